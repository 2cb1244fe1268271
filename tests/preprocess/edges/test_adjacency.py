"""Writing in-edge lists: within the memory, or refused before anything is written; and the native kernel's checks."""

import numpy as np
import pytest
from preprocess_tools import data_files, make

from marius_lite import _native
from marius_lite.errors import UserError
from marius_lite.preprocess.edges.adjacency import AdjacencyWriter
from marius_lite.storage.flat import read_array_range


def test_lists_that_do_not_fit_are_refused_and_made_with_more_memory(tmp_path, caplog):
    caplog.set_level("INFO", "marius_lite")
    edges = np.random.default_rng(0).integers(0, 1000, (250_000, 2))
    edges[:, 1] //= 900  # most edges end in two nodes
    np.save(tmp_path / "e.npy", edges)
    with pytest.raises(UserError, match=r"of partition \d, 250 nodes and \d+,\d+ in-edges, take 1\.\d\d MB, 0\.79 MB are free"):
        make(tmp_path / "d", tmp_path / "e.npy", partitions=4, memory="1MiB", adjacency="in")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".d.tmp", "e.npy"]
    dataset = make(tmp_path / "d", tmp_path / "e.npy", partitions=4, memory="4MiB", adjacency="in")
    assert "going on after pass 'write'" in caplog.text
    dataset.verify()
    afresh = make(tmp_path / "afresh", tmp_path / "e.npy", partitions=4, adjacency="in")
    assert data_files(dataset.path) == data_files(afresh.path)


def test_unknown_directions_are_refused(tmp_path):
    with pytest.raises(UserError, match="--adjacency out: unknown: use one of auto, none, in"):
        make(tmp_path / "d", tmp_path / "e.npy", adjacency="out")


@pytest.mark.parametrize(
    ("nodes", "memory", "said"),
    [
        (400_000, "1MiB", "200,000 nodes and 200,000 in-edges, take 2.40 MB"),
        (2, "1MiB", "1 nodes and 200,000 in-edges, take 0.80 MB"),
    ],
)
def test_lists_that_cannot_fit_are_refused_once_nodes_are_known(tmp_path, monkeypatch, nodes, memory, said):
    """Long before the sort: a partition has so many nodes, and the largest no fewer edges than the mean."""
    edges = np.arange(800_000).reshape(-1, 2) % nodes
    np.save(tmp_path / "e.npy", edges)
    monkeypatch.setattr("marius_lite.preprocess.edges.sorting.EdgeSort.pack", lambda *_: pytest.fail("sorted already"))
    with pytest.raises(UserError, match=f"--adjacency in: the lists of a partition at the least, {said}, 0.79 MB are free"):
        make(tmp_path / "d", tmp_path / "e.npy", partitions=2, memory=memory, adjacency="in")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".d.tmp", "e.npy"]


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_edges_without_a_place_are_refused(dtype):
    def append(dst, cursors, bucket=7, ends=1):  # bucket (1, 3) of 4 * 4, 10 nodes in a partition; lists of nodes 30 and 31
        sources, rels = np.zeros(2, dtype), np.zeros(2, np.uint32)
        src = np.array([3], np.uint32)
        _native.append_in_edges(
            src,
            np.array([dst], np.uint32),
            src,
            np.array([bucket]),
            np.array([ends]),
            4,
            10,
            30,
            np.array(cursors),
            sources,
            rels,
        )
        return sources.tolist(), rels.tolist()

    assert append(1, [0, 1]) == ([0, 13], [0, 3])
    for dst, cursors, bucket in ((2, [0, 1], 7), (1, [0, 2], 7), (0, [-1, 0], 7), (11, [0, 1], 6), (1, [0, 1], 6)):
        with pytest.raises(ValueError, match="an edge has no place"):
            append(dst, cursors, bucket)
    for bucket, ends in ((16, 1), (-1, 1), (7, 2), (7, -1), (7, 0)):
        with pytest.raises(ValueError, match="buckets: "):
            append(1, [0, 1], bucket, ends)


@pytest.fixture
def many_parts(tmp_path):
    """30,000 edges in 40 * 40 buckets, of which some are empty, with lists."""
    rng = np.random.default_rng(3)
    edges = rng.integers(0, 4000, (30_000, 3)) // [1, 1500, 1]
    edges[::3, 2] //= 100
    np.save(tmp_path / "e.npy", edges)
    return make(tmp_path / "d", tmp_path / "e.npy", partitions=40, adjacency="in")


@pytest.mark.parametrize("partitions_at_once", [1, 3, 11, 40])
def test_the_same_lists_however_many_partitions_stand_in_memory(many_parts, tmp_path, monkeypatch, partitions_at_once):
    edges, reads = many_parts.edges("train"), []
    p = many_parts.partitioning
    degrees = np.concatenate([np.diff(many_parts.adjacency.read(k).indptr) for k in range(p.partitions)])
    degrees.astype(np.uint32).tofile(tmp_path / "degrees")
    monkeypatch.setattr("marius_lite.graph.edge_segment.read_array_range", lambda *a: reads.append(a) or read_array_range(*a))
    memory = int(edges.counts.sum(0).max()) * 8 + p.rows * 8
    more = (partitions_at_once - 1) * (memory + p.rows * 8)
    writer = AdjacencyWriter(edges, tmp_path / "new/in", tmp_path / "degrees", 3, memory + more)
    (tmp_path / "new").mkdir()
    writer.write()
    assert data_files(tmp_path / "new/in") == data_files(many_parts.path / "adjacency/in")
    requests = sum(name.name in ("src", "dst", "rel") for name, *_ in reads)
    assert requests <= 3 * p.partitions * -(-p.partitions // partitions_at_once)
