"""Edges are of another relation for each range of their weights, in lists of either end."""

import numpy as np
import pytest
from list_entries import listed
from node_runs import lines, train
from weighted_dataset import with_weights

from marius_lite.config.load import load
from marius_lite.errors import UserError
from marius_lite.graph import Dataset
from marius_lite.graph.defaults import config_for
from marius_lite.graph.facts import list_bytes
from marius_lite.graph.fanouts import hop_fanouts
from marius_lite.graph.graded import MOST_GRADES, GradedLists, ranges_of_weights
from marius_lite.graph.turned import TurnedLists
from marius_lite.tasks.resolved import resolved

BOUNDS = [1.5, 3.0]
WEIGHED = ["--columns", "src,dst,weight"]
RGCN = ["task=node_classification", "model.encoder=rgcn", "model.directions=both"]


@pytest.fixture
def weighted(surrounded, tmp_path):
    """Weights of 1 to 4, by the edge's ends."""
    return with_weights(surrounded, tmp_path / "weighted", lambda src, dst, rel: (src + dst) % 4 + 1)


@pytest.mark.parametrize("turned", [None, False, True])
def test_relations_are_told_apart_by_ranges_of_weights(weighted, turned):
    lists = weighted.adjacency
    if turned is not None:
        lists = TurnedLists(lists, weighted.edges("train"), turned, weighted.manifest.relations)
    graded = GradedLists(lists, BOUNDS)
    grades = {1: 0, 2: 1, 3: 2, 4: 2}  # 3 is no less than the bound 3
    expected = [(n, o, r * 3 + grades[int(w)], w) for n, o, r, w in listed(weighted, lists, weights=True)]
    assert listed(weighted, graded, weights=True) == sorted(expected)
    assert {w for *_, w in listed(weighted, graded)} == {0}  # weights that were not asked for are not there
    assert graded.read(0, relations=False).rel is None
    assert graded.merging_bytes() >= lists.merging_bytes(True) + 12 * lists.held.max()


def test_of_one_relation_there_are_as_many_as_ranges(cli, tmp_path):
    rows = [(k % 7, k % 5, k % 3) for k in range(30)]
    np.savetxt(tmp_path / "edges.csv", rows, "%d", delimiter=",")
    assert cli("preprocess", tmp_path / "edges.csv", *WEIGHED, "--adjacency", "in", "--output", tmp_path / "data") == 0
    dataset = Dataset.open(tmp_path / "data")
    assert ranges_of_weights(dataset) == [[0.5, 1.5]]
    found = listed(dataset, GradedLists(dataset.adjacency, [0.5, 1.5]), weights=True)
    assert all(relation == weight for *_, relation, weight in found)


def test_bounds_are_between_few_weights_and_at_quarters_of_many(surrounded, tmp_path):
    assert ranges_of_weights(Dataset.open(surrounded)) == []

    def bounds(name, weigh):
        return ranges_of_weights(with_weights(surrounded, tmp_path / name, weigh))

    assert bounds("same", lambda src, dst, rel: 0 * src + 2) == []
    assert bounds("signs", lambda src, dst, rel: 2.0 * (src % 2) - 1) == [[0]]
    assert bounds("nan", lambda src, dst, rel: np.where(src % 2, np.nan, 1)) == []
    (half,), (low, high) = bounds("mostly 1", lambda src, dst, rel: np.where(src < 200, 1, src))
    assert half == low == 200 < high  # what has the least weight is a range
    dataset = with_weights(surrounded, tmp_path / "many", lambda src, dst, rel: src * 1.0)
    half, found = ranges_of_weights(dataset)
    assert (half, len(found)) == (found[1:2], 3)
    assert len(found) + 1 < MOST_GRADES
    grades = np.bincount([relation % 4 for *_, relation, _ in listed(dataset, GradedLists(dataset.adjacency, found))])
    assert grades.min() > 0.2 * grades.sum()


def test_fanouts_by_relation_are_those_of_each_range(weighted):
    config = load(sets=[*RGCN, f"model.weight_bounds={BOUNDS}", "sampling.fanouts=[{rel0: 2, default: 5}]", "model.layers=[]"])
    assert hop_fanouts(config, weighted)[0].tolist() == ([2] * 3 + [5] * 6) * 2


def test_it_trains_in_memory_and_out_of_core(communities, tmp_path, cli):
    weighted = with_weights(communities, tmp_path / "weighted", lambda src, dst, rel: src % 4 + 1)
    sets = ["model.encoder=rgcn", f"model.weight_bounds={BOUNDS}", "model.directions=both", "training.epochs=4"]
    for name, resident in (("whole", 8), ("parts", 2)):
        first, again = (
            train(cli, weighted.path, tmp_path / f"{name}{k}", *sets, f"storage.capacity={resident}") for k in range(2)
        )
        assert first == again
        assert lines(tmp_path / f"{name}0", "evaluation")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["model.encoder=sage"], "rgcn tells edges apart"),
        (["model.weight_bounds=[2, 1]"], "each larger than the one before"),
        (["model.weight_bounds=[1, .inf]"], "finite number"),
    ],
)
def test_what_does_not_fit_is_said(weighted, more, said):
    with pytest.raises(UserError, match=said):
        resolved(weighted, load(sets=[*RGCN, f"model.weight_bounds={BOUNDS}", *more]))


def test_edges_without_weights_and_weights_that_are_no_numbers_are_refused(surrounded, tmp_path):
    with pytest.raises(UserError, match=r"`model.weight_bounds` is \[1.5, 3.0\], but its edges have no weights"):
        list_bytes(Dataset.open(surrounded), load(sets=[*RGCN, f"model.weight_bounds={BOUNDS}"]))
    odd = with_weights(surrounded, tmp_path / "odd", lambda src, dst, rel: np.where(src % 2, np.nan, 1))
    with pytest.raises(UserError, match="no numbers"):
        [GradedLists(odd.adjacency, BOUNDS).read(k) for k in range(odd.partitioning.partitions)]


def test_ranges_are_told_apart_where_linear_models_ask_for_it(cli, tmp_path):
    """Edges of weights 1 and 3 join nodes of a class, those of weight 2 nodes of different ones: as many, and as much in all."""
    rng = np.random.default_rng(0)
    y, src = rng.integers(2, size=800), rng.integers(800, size=6000)
    weights = rng.choice([1, 2, 3], len(src), p=[0.25, 0.5, 0.25])
    wanted = np.where(weights != 2, y[src], 1 - y[src])
    members = [np.flatnonzero(y == c) for c in range(2)]
    np.savetxt(tmp_path / "e.csv", [(s, rng.choice(members[c]), w) for s, c, w in zip(src, wanted, weights)], "%d", delimiter=",")
    x = rng.normal(size=(800, 8)) + 0.5 * y[:, None]
    np.save(tmp_path / "x.npy", x.astype(np.float32))
    np.save(tmp_path / "y.npy", y)
    given = [*WEIGHED, "--features", tmp_path / "x.npy", "--labels", tmp_path / "y.npy"]
    told = ["--node-split", "0.4,0.3,0.3", "--undirected", "--output", tmp_path / "data"]
    assert cli("preprocess", tmp_path / "e.csv", *given, *told) == 0
    config = config_for(Dataset.open(tmp_path / "data"), None)
    assert (config.model.encoder, config.model.weight_bounds) == ("rgcn", (1.5, 2.5))
