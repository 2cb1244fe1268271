"""Nodes see the classes of training nodes, but none sees its own while it is trained."""

import json
import logging

import numpy as np
import pytest
from node_runs import lines, options, require_usable, train_in_parts
from stopped_runs import stops_after
from stored_nodes import stored

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

KNOWN = "model.known_classes=true"
EXACT = ["sampling.scope=exact", "storage.capacity=2"]


@pytest.mark.parametrize(
    ("encoder", "more"),
    [
        ("sage", ["storage.capacity=1", "model.inputs=both", "model.dim=8"]),
        ("gcn", EXACT),
        ("rgcn", [*EXACT, "sampling.lists=disk", "model.inputs=embeddings", "model.dim=8"]),
        ("gat", [*EXACT, "sampling.refresh_epochs=2", "model.normalize_features=columns"]),
    ],
)
def test_a_stopped_run_comes_to_the_same_bits(cli, communities, tmp_path, capfd, encoder, more, monkeypatch):
    given = [*more, KNOWN, f"model.encoder={encoder}", "training.epochs=4", "evaluation.every_epochs=2"]
    train_in_parts(cli, communities, tmp_path, given, monkeypatch)
    require_usable(cli, tmp_path / "whole", tmp_path, capfd)


def of_chance(cli, folder):
    """Nodes whose classes follow from nothing."""
    rng, nodes = np.random.default_rng(0), 600
    np.save(folder / "edges.npy", rng.integers(nodes, size=(3000, 2)))
    np.save(folder / "x.npy", rng.normal(size=(nodes, 2)).astype(np.float32))
    np.save(folder / "y.npy", rng.integers(4, size=nodes))
    stored(cli, folder, rng.permutation(nodes), 300)
    return folder / "d"


@pytest.mark.parametrize("encoder", ["sage", "gcn", "rgcn"])
def test_no_node_is_told_its_own(cli, tmp_path, encoder):
    """It would come back to it by its neighbours' rows, which hold what they take from it."""
    dataset = of_chance(cli, tmp_path)
    more = [KNOWN, f"model.encoder={encoder}", "training.epochs=8", "training.batch_size=50", "evaluation.every_epochs=8"]
    assert cli("train", dataset, "--run", tmp_path / "run", *options(*more)) == 0
    losses = [line["loss"] for line in lines(tmp_path / "run", "epoch")]
    assert losses[-1] > 1.2, "by chance: 1.39"


def test_training_nodes_see_their_own_when_they_are_evaluated(cli, communities, tmp_path, caplog, capfd):
    assert cli("train", communities, "--run", tmp_path / "run", *options(KNOWN)) == 0
    for split, warned in (("test", False), ("train", True)):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "marius_lite"):
            assert cli("eval", tmp_path / "run", "--split", split, "--json") == 0
        assert ("see their own classes (model.known_classes)" in caplog.text) == warned
    capfd.readouterr()


def test_they_are_planned(cli, communities, capfd):
    totals = []
    for more in ([], [KNOWN]):
        capfd.readouterr()
        assert cli("plan", communities, *options(*more), "--json") == 0
        totals.append(json.loads(capfd.readouterr().out)["memory"]["total"])
    assert totals[1] > totals[0]


def test_nodes_of_several_classes_do_not_see_them(cli, several, tmp_path, capfd):
    assert cli("train", several, "--run", tmp_path / "run", *options(KNOWN)) == 2
    assert "nodes of the dataset have any number of classes" in capfd.readouterr().err


def test_a_run_goes_on_from_one_that_sees_the_same(cli, communities, tmp_path, capfd, monkeypatch):
    assert cli("train", communities, "--run", tmp_path / "run", *options(KNOWN, "training.epochs=1")) == 0
    capfd.readouterr()
    other = ("--from", tmp_path / "run", "--set", "model.known_classes=false")
    assert cli("train", communities, "--run", tmp_path / "next", *other) == 2
    assert "`model.known_classes` is False" in capfd.readouterr().err
    with stops_after(monkeypatch, 2):
        assert cli("train", communities, "--run", tmp_path / "next", "--from", tmp_path / "run") == 143
