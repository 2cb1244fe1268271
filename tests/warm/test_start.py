"""A run from another one, over an older version of its dataset: it begins with what that one learned."""

import json
import shutil

import numpy as np
import pytest
import yaml
from safetensors.numpy import load_file
from warm_runs import CONFIG, STILL, checkpoint, config_of, rows_of

import marius_lite
from marius_lite.errors import UserError
from marius_lite.train.run import Start


def test_known_nodes_and_relations_begin_as_they_were(grown, tmp_path):
    before, now = (marius_lite.open_dataset(f"{grown / 'd'}@{n}") for n in (1, 2))
    marius_lite.train_run(grown / "d", tmp_path / "run", config_of(**STILL, **{"training.epochs": 1}), warm=grown / "old")
    old, new = rows_of(grown / "old"), rows_of(tmp_path / "run")
    known, dim = before.manifest.nodes, CONFIG["model"]["dim"]
    assert now.manifest.nodes > known
    assert (new[:known, :dim] == old[:, :dim]).all()
    assert (new[:known, dim] >= old[:, dim]).all()  # Adagrad's sums go on
    ends = [np.concatenate(part) for part in zip(*(edge_ends(now)))]
    for node in range(known, len(new)):
        others = np.concatenate([ends[0][ends[1] == node], ends[1][ends[0] == node]])
        if len(others := others[others < known]):
            np.testing.assert_allclose(new[node, :dim], old[others, :dim].mean(0), rtol=1e-5, atol=1e-7)
    weights = [load_file(checkpoint(run) / "dense.safetensors")["model.relations"] for run in (grown / "old", tmp_path / "run")]
    for side in range(2):
        count = before.manifest.relations, now.manifest.relations
        was, became = (each[side * n : side * n + count[0]] for each, n in zip(weights, count))
        assert (was == became).all()


def edge_ends(dataset):
    p, edges = dataset.partitioning, dataset.edges("train")
    for i in range(p.partitions):
        for j in range(p.partitions):
            src, dst, _ = edges.read(i, j)
            yield src + i * p.rows, dst + j * p.rows


def test_the_old_run_is_still_of_its_version(grown):
    figures = marius_lite.evaluate_run(grown / "old", "train")
    assert figures["mrr"] > 0
    assert marius_lite.resume_run(grown / "old", sets=["training.epochs=3"])["epochs"] == 3


def stopped_at_once(grown, folder, monkeypatch):
    """A run ``cut``, from ``old`` in the folder, that ends before there are any rows."""

    def first_state(*_):
        raise OSError("at once")

    with monkeypatch.context() as patch:
        patch.setattr(Start, "first_state", first_state)
        with pytest.raises(OSError, match="at once"):
            marius_lite.train_run(grown / "d", folder / "cut", config_of(), warm=folder / "old")


def test_a_run_that_is_interrupted_before_its_first_checkpoint_begins_the_same_again(grown, tmp_path, monkeypatch):
    shutil.copytree(grown / "old", tmp_path / "old", symlinks=True)
    marius_lite.train_run(grown / "d", tmp_path / "whole", config_of(), warm=tmp_path / "old")
    stopped_at_once(grown, tmp_path, monkeypatch)
    marius_lite.resume_run(tmp_path / "cut")
    assert (rows_of(tmp_path / "cut") == rows_of(tmp_path / "whole")).all()
    dense = [(checkpoint(tmp_path / run) / "dense.safetensors").read_bytes() for run in ("cut", "whole")]
    assert dense[0] == dense[1]


def test_one_whose_start_has_changed_is_told(grown, tmp_path, monkeypatch):
    shutil.copytree(grown / "old", tmp_path / "old", symlinks=True)
    stopped_at_once(grown, tmp_path, monkeypatch)
    shutil.rmtree(tmp_path / "old")
    marius_lite.train_run(f"{grown / 'd'}@1", tmp_path / "old", config_of(**{"training.seed": 7, "training.epochs": 3}))
    with pytest.raises(UserError, match="has changed since a run began from it"):
        marius_lite.resume_run(tmp_path / "cut")


def test_what_cannot_be_gone_on_from_is_told(grown, tmp_path):
    with pytest.raises(UserError, match=r"`model.dim` is 16, .*has 8: give --set model.dim=8"):
        marius_lite.train_run(grown / "d", tmp_path / "run", config_of(**{"model.dim": 16}), warm=grown / "old")
    assert not (tmp_path / "run").exists()
    other = tmp_path / "e.tsv"
    other.write_text("a\tr\tb\nb\tr\tc\nc\tr\ta\n")
    marius_lite.make_dataset(other, tmp_path / "other", partitions=2)
    with pytest.raises(UserError, match="no older version"):
        marius_lite.train_run(tmp_path / "other", tmp_path / "run", config_of(), warm=grown / "old")
    with pytest.raises(UserError, match="not a run folder"):
        marius_lite.train_run(grown / "d", tmp_path / "run", config_of(), warm=tmp_path / "nothing")


def test_the_command_begins_from_a_run(grown, tmp_path, cli, capsys):
    (tmp_path / "c.yaml").write_text(json.dumps(CONFIG))
    command = ["train", grown / "d", "--run", tmp_path / "run", "--config", tmp_path / "c.yaml", "--from", grown / "old"]
    assert cli(*command, "--set=negatives.first_epochs=1", "--set=negatives.first_count=2") == 0
    assert "2.0.0" in capsys.readouterr().out
    assert yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())["config"]["negatives"]["first_epochs"] == 0


@pytest.mark.parametrize("more", [[], ["--freeze=old"]])
def test_a_run_that_is_not_there_is_told_before_anything_else(grown, tmp_path, cli, capfd, more):
    assert cli("train", grown / "d", "--run", tmp_path / "run", "--from", tmp_path / "nothere", *more) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert "nothere: not a run folder (it has no config.yaml)" in line


def test_without_a_configuration_it_has_the_settings_of_the_run(grown, tmp_path, cli, caplog):
    assert cli("train", grown / "d", "--run", tmp_path / "run", "--from", grown / "old", "--set=training.epochs=1") == 0
    assert f"settings of {grown}/old" in caplog.text
    old, new = (yaml.safe_load((run / "config.yaml").read_text())["config"] for run in (grown / "old", tmp_path / "run"))
    for section in ("model", "loss", "negatives", "optimizer", "regularizer"):
        assert new[section] == old[section]
    assert new["training"]["epochs"] == 1
