"""Partitions share the lists of the first ones, as many as are read; where all are, nothing is shared."""

import numpy as np
import pytest

from marius_lite.preprocess import make_dataset
from marius_lite.prices import borrowed_lists
from marius_lite.prices.borrowed_lists import BorrowedLists
from marius_lite.sampling.neighbours import NeighbourLists


@pytest.fixture
def adjacency(tmp_path):
    """185 nodes in 4 partitions of 47, 47, 47 and 44, and edges of three relations."""
    rng = np.random.default_rng(3)
    rows = np.stack([rng.integers(0, 185, 3000), rng.integers(0, 3, 3000), rng.integers(0, 185, 3000)], 1)
    np.save(tmp_path / "e.npy", np.concatenate([rows, [[x, 0, x] for x in range(185)]]))
    return make_dataset(tmp_path / "e.npy", tmp_path / "d", partitions=4, adjacency="in").adjacency


def test_all_are_read_where_they_are_few(adjacency):
    borrowed = BorrowedLists(adjacency, False)
    for k in range(4):
        found, expected = borrowed.read(k), adjacency.read(k)
        assert np.array_equal(found.sources, expected.sources)
        assert np.array_equal(found.rel, expected.rel)


def test_others_have_those_of_the_first(adjacency, monkeypatch):
    monkeypatch.setattr(borrowed_lists, "BORROWED", 1)
    first = adjacency.read(0)
    monkeypatch.setattr(adjacency, "read", lambda k, weights: {0: first}[k])
    borrowed = BorrowedLists(adjacency, False)
    assert borrowed.read(2).sources is borrowed.read(0).sources
    size = adjacency.partitioning.size(3)
    last = borrowed.read(3)
    assert len(last.indptr) == size + 1 < len(first.indptr)
    assert np.array_equal(last.sources, first.sources[: first.indptr[size]])
    assert len(last.rel) == len(last.sources)
    lists, p = NeighbourLists(borrowed, degrees=True), adjacency.partitioning
    lists.enter({k: k * p.rows for k in range(4)})
    sample = lists.sample(np.array([1, 60, 184]), [4, 4], 7)
    lists.close()
    assert len(sample.nodes) > 10
    assert sample.missing == 0
