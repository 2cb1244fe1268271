"""The weight of an edge that counts as one neighbour is the mean, unless weights say nothing or are none."""

import logging

import numpy as np
import pytest

from marius_lite.config.load import load
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.inputs import lists_read
from marius_lite.graph.remarks import unused
from marius_lite.graph.weight_unit import unit_of, with_unit

NODES = ["task=node_classification", "model.encoder=gcn"]


@pytest.fixture
def weighted(cli, tmp_path):
    def write(weights):
        edges = np.stack([np.arange(len(weights)), np.roll(np.arange(len(weights)), 1)], 1)
        np.save(tmp_path / "edges.npy", np.column_stack([edges, weights]))
        told = ["--columns", "src,dst,weight", "--output", tmp_path / "dataset", "--partitions", "2", "--adjacency", "in"]
        assert cli("preprocess", tmp_path / "edges.npy", *told) == 0
        return Dataset.open(tmp_path / "dataset")

    return write


@pytest.mark.parametrize(
    ("weights", "mean"),
    [
        ([1, 2, 6, 3], 3.0),
        ([0, 0, 0, 4], 1.0),
        ([2, 2, 2, 2], None),
        ([0, 0, 0, 0], None),
        ([1, -1, 3, 5], 2.25),
        ([-1, -2, -3, 4], 1.0),
        ([-1, -2, -3, 0], None),
    ],
)
def test_the_mean(weighted, weights, mean):
    dataset = weighted(weights)
    assert unit_of(dataset) == mean
    assert with_unit(dataset, load(sets=NODES)).model.weight_unit == (mean or 0)


@pytest.mark.parametrize(
    "settings",
    [
        ["task=node_classification", "model.encoder=gat"],
        ["model.encoder=sage"],
        [*NODES, "sampling.weighted=true"],
        [*NODES, "sampling.fanouts=[{default: 2}]"],
    ],
)
def test_where_neighbours_cannot_count_by_weights_all_count_alike(weighted, settings):
    assert with_unit(weighted([1, 2, 6, 3]), load(sets=settings)).model.weight_unit == 0


def test_lists_have_what_neighbours_count(weighted):
    dataset = weighted([1, 2, 6, 3])
    lists = lists_read(dataset, load(sets=[*NODES, "model.weight_unit=3"]))
    for k in range(2):
        plain, read = dataset.adjacency.read(k, weights=True), lists.read(k)
        np.testing.assert_array_equal(read.factors, plain.weights / np.float32(3))
        np.testing.assert_array_equal(read.carried.view(np.float32), read.factors)
        np.testing.assert_array_equal(read.sources, plain.sources)
        assert read.rel is None
    assert lists.edge_bytes() == dataset.adjacency.edge_bytes() + 4
    assert lists_read(dataset, load(sets=[*NODES, "model.weight_unit=0"])) is dataset.adjacency


@pytest.mark.parametrize("directions", ["in", "out", "both"])
def test_weights_below_0_count_0(weighted, directions):
    dataset = weighted([-1, 2, -3, 4])
    lists = lists_read(dataset, load(sets=[*NODES, "model.weight_unit=2", f"model.directions={directions}"]))
    factors = np.concatenate([lists.read(k).factors for k in range(2)])
    assert sorted(factors) == sorted([0, 0, 1, 2] * (1 + (directions == "both")))


@pytest.mark.parametrize("weight", [np.inf, -np.inf, np.nan])
def test_weights_that_cannot_be_multiplied_with_are_refused(weighted, monkeypatch, weight):
    lists = weighted([1, 2, 6, 3]).adjacency.weighing(1.0)
    monkeypatch.setattr(lists, "_read", lambda k, name, out: np.full_like(out, weight) if name == "weight" else out)
    with pytest.raises(UserError, match=r"weights that are not finite: `model.weight_unit` takes finite weights"):
        lists.read(0)


@pytest.mark.parametrize(
    ("weights", "settings", "said"),
    [
        ([1, 2, 6, 3], NODES, "model.weight_unit=3, because edges have weights, whose mean it is: neighbours count by them;"),
        ([1, -1, 3, 5], NODES, "neighbours count by them, and those below 0 (down to -1) count 0; "),
        ([2, 2, 2, 2], NODES, "all edges count alike, whatever their weights: all are 2"),
        ([-1, -2, -3, 0], NODES, "all edges count alike, whatever their weights: 0% are above 0 (from -3 to 0)"),
    ],
)
def test_what_is_told(weighted, caplog, weights, settings, said):
    dataset = weighted(weights)
    with caplog.at_level(logging.INFO, "marius_lite"):
        with_unit(dataset, load(sets=settings))
    assert said in caplog.text


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ([*NODES, "model.weight_unit=0"], "edges have weights, but all edges count alike (`model.weight_unit` is 0)"),
        (
            ["task=node_classification", "model.encoder=gat", "model.weight_unit=0"],
            "edges have weights, which this run does not use (gcn, sage, sgc, sign do: `model.weight_unit`)",
        ),
        (["model.weight_unit=0"], "edges have weights, which this run does not use (`training.weight_power` is 0)"),
        ([*NODES, "model.weight_unit=2"], None),
        ([*NODES, "sampling.weighted=true", "model.weight_unit=0"], None),
    ],
)
def test_a_remark_says_when_weights_are_not_used(weighted, settings, said):
    manifest = weighted([1, 2, 6, 3]).manifest
    assert [line for line in unused(manifest, load(sets=settings)) if "weights" in line] == ([said] if said else [])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["model.encoder=gat"], "`model.weight_unit` is 2.0, but `model.encoder` is gat: .* gcn, sage, sgc, sign"),
        (["model.encoder=gcn", "sampling.weighted=true"], "would count twice by it"),
        (["model.encoder=gcn", "sampling.fanouts=[{default: 3}]"], "`sampling.fanouts` differ by relation"),
    ],
)
def test_what_does_not_go_together(settings, said):
    with pytest.raises(UserError, match=said):
        load(sets=["task=node_classification", "model.weight_unit=2", *settings])
