"""Lists that have to be made are made once, and are the same when they are read again."""

from contextlib import closing
from dataclasses import fields

import numpy as np
import pytest

from marius_lite.errors import RunError, UserError
from marius_lite.graph.graded import GradedLists
from marius_lite.graph.turned import TurnedLists
from marius_lite.preprocess import make_dataset
from marius_lite.sampling.made_lists import MadeLists
from marius_lite.sampling.neighbours import NeighbourLists, read_lists, true_degrees
from marius_lite.sampling.passes import ListsOnDisk


@pytest.fixture
def dataset(tmp_path):
    """200 nodes in 5 partitions, 4,000 edges of three relations, with weights."""
    rng = np.random.default_rng(5)
    ends = rng.integers(0, 200, (4000, 2))
    lines = [f"{src}\t{rel}\t{dst}\t{weight}" for (src, dst), rel, weight in zip(ends, ends[:, 0] % 3, ends[:, 1] % 5 + 1)]
    (tmp_path / "e.tsv").write_text("\n".join(lines) + "\n")
    columns = {"columns": "src,rel,dst,weight"}
    return make_dataset(tmp_path / "e.tsv", tmp_path / "d", partitions=5, adjacency="in", **columns)


def adjacencies(dataset):
    stored, edges = dataset.adjacency, dataset.edges("train")
    turned = TurnedLists(stored, edges, True, dataset.manifest.relations)
    return {
        "out": TurnedLists(stored, edges, False),
        "both": turned,
        "factors": TurnedLists(stored.weighing(2.0), edges, True),
        "grades": GradedLists(turned, [2.5]),
    }


@pytest.fixture(params=["out", "both", "factors", "grades"])
def adjacency(request, dataset):
    return adjacencies(dataset)[request.param]


@pytest.mark.parametrize("weighted", [False, True])
def test_they_are_read_as_they_were_made(adjacency, tmp_path, weighted):
    with closing(MadeLists(adjacency, weighted, tmp_path)) as made:
        for k in [*range(5), 0]:
            found, expected = made.read(k), read_lists(adjacency, k, weighted)
            for each in fields(expected):
                ours, theirs = getattr(found, each.name), getattr(expected, each.name)
                assert (ours is None) == (theirs is None), each.name
                assert ours is None or (ours.dtype == theirs.dtype and np.array_equal(ours, theirs)), each.name
        assert np.array_equal(true_degrees(made, adjacency.partitioning), true_degrees(adjacency, adjacency.partitioning))


def test_passes_make_each_once_and_sample_what_lists_in_memory_do(adjacency, tmp_path, monkeypatch):
    made, read = [], type(adjacency).read
    monkeypatch.setattr(type(adjacency), "read", lambda self, k, *rest, **more: made.append(k) or read(self, k, *rest, **more))
    p, nodes = adjacency.partitioning, np.arange(0, 200, 7)
    with (
        closing(ListsOnDisk(adjacency, degrees=True, folder=tmp_path)) as disk,
        closing(NeighbourLists(adjacency, degrees=True)) as memory,
    ):
        disk.enter({})
        disk.enter({})
        assert made == list(range(5))
        found = disk.sample(nodes, [4, 3], 11)
        assert made == list(range(5))
        memory.enter({k: k * p.rows for k in range(p.partitions)})
        expected = memory.sample(nodes, [4, 3], 11)
        assert np.array_equal(found.nodes, expected.nodes)
        assert np.array_equal(found.indices, expected.indices)
        assert np.array_equal(disk.degrees(found.rows), memory.degrees(expected.rows))


def test_lists_that_are_stored_are_not_made(dataset, tmp_path, monkeypatch):
    monkeypatch.setattr("marius_lite.sampling.passes.MadeLists", None)
    with closing(ListsOnDisk(dataset.adjacency, folder=tmp_path)) as lists:
        lists.enter({})
        lists.sample(np.arange(9), [2], 0)


def test_a_full_disk_is_told_and_leaves_nothing(dataset, tmp_path, monkeypatch):
    def full(self, data, at):
        raise RunError(f"{tmp_path}: No space left on device")

    monkeypatch.setattr("marius_lite.storage.packs.ScratchFile.write", full)
    before = sorted(tmp_path.iterdir())
    with closing(ListsOnDisk(adjacencies(dataset)["both"], folder=tmp_path)) as lists, pytest.raises(RunError, match="No space"):
        lists.enter({})
    assert sorted(tmp_path.iterdir()) == before


def test_weights_that_cannot_be_drawn_by_are_told(tmp_path):
    (tmp_path / "e.tsv").write_text("".join(f"{x}\t{x + 1}\t{-1.0}\n" for x in range(40)))
    made = make_dataset(tmp_path / "e.tsv", tmp_path / "w", partitions=2, adjacency="in", columns="src,dst,weight")
    with pytest.raises(UserError, match="finite weights of 0 or more"):
        MadeLists(TurnedLists(made.adjacency, made.edges("train"), True), True, tmp_path)
