"""Edges that are kept in memory are those that are stored."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marius_lite
from marius_lite.errors import UserError
from marius_lite.graph.edges import COLUMNS
from marius_lite.graph.kept import KeptEdges


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    """Edges of a dataset that has two segments, and removed edges."""
    folder, rng = tmp_path_factory.mktemp("kept"), np.random.default_rng(1)
    first = rng.integers(0, (50, 3, 50), (900, 3))
    np.save(folder / "e.npy", first)
    np.save(folder / "new.npy", rng.integers(0, (70, 4, 70), (100, 3)))
    np.save(folder / "gone.npy", first[::7])
    marius_lite.make_dataset(folder / "e.npy", folder / "d", partitions=4)
    marius_lite.update_dataset(folder / "d", folder / "new.npy")
    marius_lite.update_dataset(folder / "d", remove=folder / "gone.npy")
    return marius_lite.open_dataset(folder / "d").edges("train")


@settings(deadline=None)
@given(st.data())
def test_buckets_are_what_is_stored(edges, data):
    kept, p = KeptEdges(edges), edges.partitioning.partitions
    assert (kept.total, kept.counts.tolist()) == (edges.total, edges.counts.tolist())
    assert 0 < kept.total < 1000
    bucket = st.tuples(st.integers(0, p - 1), st.integers(0, p - 1))
    for buckets in data.draw(st.lists(st.lists(bucket, unique=True), max_size=3)):
        size = int(sum(edges.counts[i, j] for i, j in buckets))
        expected, found = np.zeros((3, size), np.uint32), np.ones((3, size), np.uint32)
        assert edges.read_into(buckets, *expected) == kept.read_into(buckets, *found) == size
        assert (found == expected).all()


@settings(deadline=None)
@given(st.data())
def test_blocks_are_what_is_stored(edges, data):
    p = edges.partitioning.partitions
    rows, columns = (range(*sorted(data.draw(st.tuples(*[st.integers(0, p)] * 2)))) for _ in range(2))
    at_once, names = (
        data.draw(st.integers(20, edges.total + 1)),
        data.draw(st.sampled_from([COLUMNS, COLUMNS[:1], COLUMNS[::-1]])),
    )
    ours, theirs = (list(each.block(rows, columns, at_once, names)) for each in (KeptEdges(edges), edges))
    for one, other in zip(joined(ours, len(names)), joined(theirs, len(names)), strict=True):
        np.testing.assert_array_equal(one, other)
    assert all(len(piece.columns[0]) <= at_once for piece in ours)


def joined(pieces, names):
    """The columns of all pieces, with the bucket of each edge: pieces begin elsewhere where edges were removed."""
    columns = [np.concatenate([np.empty(0, np.uint32), *(piece.columns[k] for piece in pieces)]) for k in range(names)]
    return [*columns, np.concatenate([np.empty(0, int), *(piece.bucket_of_each() for piece in pieces)])]


def test_they_are_read_once(edges, monkeypatch):
    kept, out = KeptEdges(edges), np.empty((3, edges.total), np.uint32)
    kept.read_into([(0, 0)], *out)
    monkeypatch.delattr("marius_lite.graph.edges.EdgeBuckets.block")
    assert kept.read_into([(0, 0), (1, 1)], *out) == edges.counts[0, 0] + edges.counts[1, 1]
    assert sum(len(piece.columns[0]) for piece in kept.block(range(1), range(2), 9, COLUMNS)) == edges.counts[0, :2].sum()


def test_damaged_ones_are_told(tmp_path):
    np.save(tmp_path / "e.npy", np.random.default_rng(0).integers(0, 50, (900, 2)))
    marius_lite.make_dataset(tmp_path / "e.npy", tmp_path / "d", partitions=4)
    column = tmp_path / "d" / "edges" / "train" / "dst" / "c" / "0"
    column.write_bytes(bytes([column.read_bytes()[0] ^ 1]) + column.read_bytes()[1:])
    edges = marius_lite.open_dataset(tmp_path / "d").edges("train")
    with pytest.raises(UserError, match="does not match its checksum"):
        KeptEdges(edges).read_into([(1, 1)], *np.empty((3, edges.total), np.uint32))
