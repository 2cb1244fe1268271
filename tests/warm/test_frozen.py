"""A run from another that leaves some of what it begins with as it is, bit for bit, and trains the rest."""

import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file
from warm_runs import checkpoint, config_of, rows_of

import marius_lite
from marius_lite.errors import UserError

ADAM = {"optimizer.rows.name": "adam", "optimizer.dense.name": "adam"}  # both move what has a gradient of 0


def weights_of(run):
    return load_file(checkpoint(run) / "dense.safetensors")["model.relations"]


def known_rows(grown, weights, version):
    """The rows of relations that the first version has, of both directions."""
    first, all_of = (marius_lite.open_dataset(f"{grown / 'd'}@{n}").manifest.relations for n in (1, version))
    return np.concatenate([weights[side * all_of :][:first] for side in range(len(weights) // all_of)])


@pytest.mark.parametrize("optimizers", [{}, ADAM])
@pytest.mark.parametrize("frozen", ["old", "relations", "both"])
def test_what_is_frozen_keeps_its_bits(grown, tmp_path, frozen, optimizers):
    begun = grown / "old"
    if optimizers:
        begun = tmp_path / "old"
        marius_lite.train_run(f"{grown / 'd'}@1", begun, config_of(**optimizers))
    config = config_of(**{"training.freeze": frozen, "training.staleness": 2 if optimizers else 0}, **optimizers)
    marius_lite.train_run(grown / "d", tmp_path / "run", config, warm=begun)
    known = marius_lite.open_dataset(f"{grown / 'd'}@1").manifest.nodes
    old, new = rows_of(begun), rows_of(tmp_path / "run")
    assert (new[:known] == old).all() == (frozen != "relations")
    assert len(new) > known
    before, after = (known_rows(grown, weights_of(run), n) for run, n in ((begun, 1), (tmp_path / "run", 2)))
    assert (before == after).all() == (frozen != "old")
    marius_lite.train_run(grown / "d", tmp_path / "none", config_of(**{"training.epochs": 1}, **optimizers), warm=begun)
    assert (rows_of(tmp_path / "none")[known:] != new[known:]).any()  # new ones are trained


def test_a_frozen_run_that_was_interrupted_goes_on_frozen_without_the_other(grown, tmp_path):
    shutil.copytree(grown / "old", tmp_path / "old", symlinks=True)
    config = config_of(**{"training.freeze": "both", "training.replay": 0.5, "checkpoint.every_epochs": 1})
    marius_lite.train_run(grown / "d", tmp_path / "whole", config, warm=tmp_path / "old")
    one = config_of(**{"training.freeze": "both", "training.replay": 0.5, "training.epochs": 1})
    marius_lite.train_run(grown / "d", tmp_path / "cut", one, warm=tmp_path / "old")
    shutil.rmtree(tmp_path / "old")
    marius_lite.resume_run(tmp_path / "cut", sets=["training.epochs=2"])
    assert (rows_of(tmp_path / "cut") == rows_of(tmp_path / "whole")).all()
    assert (weights_of(tmp_path / "cut") == weights_of(tmp_path / "whole")).all()


@pytest.mark.parametrize(
    ("changed", "version", "begun", "told"),
    [
        ({"training.freeze": "old"}, 2, False, r"`training.freeze`: nothing is known that could stay"),
        ({"training.replay": 0.5}, 2, False, r"`training.replay`: nothing is known that could stay or come again"),
        ({"training.freeze": "both"}, 1, True, "nothing would be learned"),
        ({"training.replay": 0}, 1, True, "nothing would be learned"),
    ],
)
def test_what_cannot_be_is_told(grown, tmp_path, changed, version, begun, told):
    with pytest.raises(UserError, match=told):
        marius_lite.train_run(
            f"{grown / 'd'}@{version}", tmp_path / "run", config_of(**changed), warm=grown / "old" if begun else None
        )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("frozen", "has"), [("old", "no learned"), ("relations", "no weights"), ("both", "neither learned")])
def test_a_run_with_nothing_to_freeze_is_told(communities, class_run, tmp_path, cli, capfd, frozen, has):
    assert cli("train", communities, "--run", tmp_path / "run", "--from", class_run, "--freeze", frozen) == 2
    assert f"`training.freeze` is {frozen}: {class_run} has {has}" in capfd.readouterr().err
    assert not (tmp_path / "run").exists()


def test_relations_without_weights_are_not_frozen(grown, tmp_path):
    dot = {"model.decoder": "dot", "training.epochs": 1}
    marius_lite.train_run(f"{grown / 'd'}@1", tmp_path / "dot", config_of(**dot))
    with pytest.raises(UserError, match="has no weights of relations, so nothing would stay"):
        marius_lite.train_run(
            grown / "d", tmp_path / "run", config_of(**{"training.freeze": "relations"}, **dot), warm=tmp_path / "dot"
        )
    marius_lite.train_run(grown / "d", tmp_path / "run", config_of(**{"training.freeze": "both"}, **dot), warm=tmp_path / "dot")


def test_a_version_that_is_gone_is_told(grown, tmp_path):
    shutil.copytree(grown / "d", tmp_path / "d")
    shutil.copytree(tmp_path / "d/versions/2", tmp_path / "alone")
    with pytest.raises(UserError, match="the version that the run of --from was trained on is gone"):
        marius_lite.train_run(tmp_path / "alone", tmp_path / "run", config_of(**{"training.replay": 0.5}), warm=grown / "old")


def test_an_option_that_freezes_nothing_known_is_told_as_the_option(cli, tiny_dataset, tmp_path, capfd):
    assert cli("train", tiny_dataset, "--run", tmp_path / "run", "--freeze", "olds") == 2
    assert capfd.readouterr().err.endswith("--freeze olds: there are old, relations, both\n")
    assert cli("train", tiny_dataset, "--run", tmp_path / "run", "--freeze", "old") == 2
    assert "--freeze old: needs --from RUN" in capfd.readouterr().err
