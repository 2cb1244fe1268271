"""Runs with reversible couplings: they learn, go on from any checkpoint to the same bits, and are evaluated and exported."""

import shutil

import pytest
from node_runs import bits, forget, lines, options, require_usable, train

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

COUPLED = [
    "training.method=cluster",
    "sampling.scope=auto",
    "sampling.fanouts=auto",
    "storage.capacity=3",
    "model.layers={width: 16, count: 7}",
    "model.reversible=2",
    "model.norm=layer",
    "model.dropout=0.2",
    "optimizer.dense.lr=0.01",
    "training.epochs=16",
    "checkpoint.keep=60",
]


@pytest.fixture(scope="module")
def trained(cli, clustered, tmp_path_factory):
    run = tmp_path_factory.mktemp("trained") / "run"
    train(cli, clustered, run, *COUPLED, "checkpoint.every_minutes=1e-9")
    return run


def test_from_any_checkpoint_it_goes_on_to_the_same_bits(cli, trained, tmp_path):
    expected, names = bits(trained), sorted(path.name for path in (trained / "checkpoints").glob("[0-9]*"))
    for name in names[22::17]:
        copy = tmp_path / name
        shutil.copytree(trained, copy, symlinks=True)
        assert cli("resume", copy, "--checkpoint", name, "--quiet") == 0
        assert bits(copy) == expected


def test_a_run_from_before_groups_were_summed_in_float64_goes_on_as_it_was(cli, clustered, trained, tmp_path):
    settings = [*COUPLED, "model.reversible_sums=float32"]
    expected = train(cli, clustered, tmp_path / "whole", *settings, "training.epochs=3")[1]
    assert expected != bits(trained)[1][: len(expected)]
    train(cli, clustered, tmp_path / "old", *settings, "training.epochs=1")
    forget(tmp_path / "old", "reversible_sums")
    assert cli("resume", tmp_path / "old", "--set", "training.epochs=3") == 0
    assert bits(tmp_path / "old")[1] == expected


def test_deep_layers_learn(trained):
    assert lines(trained, "evaluation")[-1]["accuracy"] > 0.8 > 0.25 + 0.2


@pytest.mark.parametrize("encoder", ["gcn", "gat"])
def test_other_convolutions_learn(cli, clustered, tmp_path, encoder):
    train(cli, clustered, tmp_path / "run", *COUPLED, f"model.encoder={encoder}", "model.heads=2", "evaluation.every_epochs=16")
    assert lines(tmp_path / "run", "evaluation")[-1]["accuracy"] > 0.6 > 0.25 + 0.2


def test_it_is_evaluated_predicted_and_exported(cli, trained, tmp_path, capfd):
    require_usable(cli, trained, tmp_path, capfd)


def test_other_methods_are_refused_in_a_line(cli, clustered, tmp_path, capfd):
    assert cli("train", clustered, "--run", tmp_path / "run", *options(*COUPLED, "training.method=sampled")) == 2
    assert "set it to cluster" in capfd.readouterr().err
