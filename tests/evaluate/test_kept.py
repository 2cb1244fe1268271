"""Edges that are kept in memory for a ranking are those that are read from disk, in every block and piece."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.evaluate.kept import BYTES_PER_EDGE, KeptBuckets, kept
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import COLUMNS


@pytest.fixture(scope="module")
def edges(tiny_dataset):
    return Dataset.open(tiny_dataset).edges("train")


@given(st.data())
def test_blocks_are_those_on_disk(edges, data):
    p = edges.partitioning.partitions
    rows, columns = (range(*sorted(data.draw(st.tuples(*[st.integers(0, p)] * 2)))) for _ in range(2))
    at_once, names = data.draw(st.integers(1, edges.total + 1)), data.draw(st.sampled_from([COLUMNS, COLUMNS[:1], COLUMNS[::-1]]))
    if data.draw(st.booleans()):
        at_once = max(at_once, edges.total // 3)
    pieces = [KeptBuckets(edges).block(rows, columns, at_once, names), edges.block(rows, columns, at_once, names)]
    for ours, theirs in zip(*pieces, strict=True):
        for one, other in zip(ours.columns, theirs.columns, strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype
        np.testing.assert_array_equal(ours.bucket_of_each(), theirs.bucket_of_each())


def test_they_are_read_once(edges, monkeypatch):
    split, every = KeptBuckets(edges), range(edges.partitioning.partitions)
    first = list(split.block(every, every, edges.total, COLUMNS))
    monkeypatch.setattr(type(edges), "block", None)
    (again,), (before,) = split.block(every, every, edges.total, COLUMNS), first
    np.testing.assert_array_equal(again.columns, before.columns)


def test_many_edges_stay_on_disk(edges):
    size = 2 * edges.total * BYTES_PER_EDGE
    same, none = kept([edges, edges], size - 1)
    assert same == [edges, edges]
    assert none == 0
    splits, taken = kept([edges, edges], size)
    assert all(isinstance(split, KeptBuckets) for split in splits)
    assert taken == size
