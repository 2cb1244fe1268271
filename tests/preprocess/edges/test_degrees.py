"""Degrees: counted while edges pass or from the buckets, in any memory, and beyond 32 bits."""

import tracemalloc

import numpy as np
import pytest
from preprocess_tools import make
from pydantic import TypeAdapter

from marius_lite import _native
from marius_lite.graph import Dataset, counts
from marius_lite.preprocess.edges import buckets, degrees
from marius_lite.preprocess.edges.buckets import Tally, count_dtype
from marius_lite.preprocess.edges.degrees import degree_facts

NODES, MOST = 300, 2**32 - 1


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("degrees")
    edges = np.random.default_rng(0).integers(0, NODES, (5000, 2))
    edges[::2, 1] //= 7
    np.save(folder / "e.npy", edges)
    return Dataset.open(make(folder / "d", folder / "e.npy", partitions=13, split="0.8,0.1,0.1", seed=4).path)


def counted(dataset, split):
    """(out-degrees, in-degrees) of a split."""
    edges, p = dataset.edges(split), dataset.partitioning
    ends = [
        np.concatenate([edges.read(i, j)[side] + (i, j)[side] * p.rows for i in range(p.partitions) for j in range(p.partitions)])
        for side in (0, 1)
    ]
    return [np.bincount(each.astype(int), minlength=p.nodes) for each in ends]


def facts(dataset, tmp_path, memory, by_node=None):
    p, splits = dataset.partitioning, ("train", "valid", "test")
    tally = Tally.zeros(p, 1, by_node)
    if by_node:
        for split, name in enumerate(splits):
            out, into = counted(dataset, name)
            tally.in_splits[(out > 0) | (into > 0)] |= 1 << split
            if split == 0:
                tally.out_degrees[:], tally.in_degrees[:] = out, into
    found = degree_facts({name: dataset.edges(name) for name in splits}, p, tally, tmp_path / "in", memory)
    return found, np.fromfile(tmp_path / "in", np.uint32)


@pytest.mark.parametrize("nodes_at_once", [1, 24, 1000])
def test_from_the_buckets_as_while_they_pass(dataset, tmp_path, nodes_at_once):
    expected, into = facts(dataset, tmp_path, 0, np.uint32)
    assert into.tolist() == counted(dataset, "train")[1].tolist()
    found, from_buckets = facts(dataset, tmp_path, 4 * 9 * nodes_at_once + 8)
    assert found == expected
    assert from_buckets.tolist() == into.tolist()


def test_counts_of_some_nodes_go_before_others_come(tmp_path, monkeypatch):
    nodes, memory = 400_000, 1 << 20
    np.save(tmp_path / "e.npy", np.stack([np.arange(nodes), (np.arange(nodes) + 1) % nodes], 1))
    dataset = make(tmp_path / "d", tmp_path / "e.npy", partitions=16)
    monkeypatch.setattr(counts, "EDGES_AT_ONCE", 1 << 10)
    monkeypatch.setattr(degrees, "SLICE", 1 << 10)
    tally = Tally.zeros(dataset.partitioning, 1, None)
    tracemalloc.start()
    try:
        degree_facts({"train": dataset.edges("train")}, dataset.partitioning, tally, tmp_path / "in", memory)
        assert tracemalloc.get_traced_memory()[1] < memory
    finally:
        tracemalloc.stop()


def test_what_a_restart_remembers_is_the_same(dataset, tmp_path):
    found, adapter = facts(dataset, tmp_path, 0, np.uint32)[0], TypeAdapter(degrees.DegreeFacts)
    assert repr(adapter.validate_json(adapter.dump_json(found))) == repr(found)


def test_64_bits_say_the_same(dataset, tmp_path, monkeypatch):
    expected, into = facts(dataset, tmp_path, 0, np.uint32)
    assert facts(dataset, tmp_path, 0, np.uint64)[0] == expected
    monkeypatch.setattr(degrees, "count_dtype", lambda _: np.uint64)
    found, _ = facts(dataset, tmp_path, 4 * 17 * 50)
    assert found == expected
    assert np.fromfile(tmp_path / "in", np.uint64).tolist() == into.tolist()


def test_a_whole_dataset_with_64_bits(dataset, tmp_path, monkeypatch):
    edges = dataset.path.parent / "e.npy"
    expected = make(tmp_path / "d", edges, partitions=5, adjacency="in")
    for module in (buckets, degrees):
        monkeypatch.setattr(module, "count_dtype", lambda _: np.uint64)
    monkeypatch.setattr("marius_lite.preprocess.edges.adjacency.count_dtype", lambda _: np.uint64)
    made = make(tmp_path / "wide", edges, partitions=5, adjacency="in")
    assert made.fingerprint == expected.fingerprint
    assert [lists.sources.tolist() for lists in map(made.adjacency.read, range(5))] == [
        lists.sources.tolist() for lists in map(expected.adjacency.read, range(5))
    ]


def test_what_counts_the_edges_of_a_node():
    assert [count_dtype(edges) for edges in (0, MOST, MOST + 1, 10**12)] == [np.uint32, np.uint32, np.uint64, np.uint64]


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_a_node_with_more_edges_than_32_bits_count(dtype):
    """Where a type without room was chosen, counts would begin again at 0."""
    expected = MOST + 1 if dtype is np.uint64 else 0
    layout, ends = _native.EdgeLayout(4, 1, 1), np.full((2, 4), MOST, dtype)
    records = np.empty((1, layout.words), np.uint64)
    one, zero = np.array([1], np.uint32), np.zeros(1, np.uint32)
    ids = np.arange(4, dtype=np.uint32)
    layout.pack(one, zero, one * 2, None, ids, ids, zero, split=0, bounds=None, key=0, undirected=False, threads=1, out=records)
    counts = _native.EdgeCounts(
        np.zeros((3, 1), np.int64), np.zeros((3, 1), np.int64), np.zeros((5, 3), np.int64), *ends, np.zeros(4, np.uint8)
    )
    layout.unpack(records, 4, False, counts, np.empty((3, 3, 1), np.uint32))
    assert ends.tolist() == [[MOST, expected, MOST, MOST], [MOST, MOST, expected, MOST]]
    column, seen = np.full(4, MOST, dtype), np.zeros(4, np.uint8)
    _native.count_ends(np.array([3, 0], np.uint32), np.array([0]), np.array([2]), 1, 4, True, 1, 2, seen[:2], column[:2])
    assert (seen.tolist(), column.tolist()) == ([0] * 4, [MOST] * 4)  # of nodes 1 and 2
    _native.count_ends(np.array([3, 0], np.uint32), np.array([0]), np.array([2]), 1, 4, False, 0, 2, seen, column)
    assert (seen.tolist(), column.tolist()) == ([2, 0, 0, 2], [expected, MOST, MOST, expected])
    with pytest.raises(ValueError, match="in no partition"):
        _native.count_ends(np.array([4], np.uint32), np.array([0]), np.array([1]), 1, 4, False, 0, 2, seen, column)


def test_quantiles_of_large_degrees():
    histogram = degrees._Histogram()
    for values in ([1, 2, 3], [5000, MOST + 10], []):
        histogram.add(np.array(values, np.uint64))
    most = MOST + 10
    assert histogram.facts() == {"mean": round((5006 + most) / 5, 3), "p50": 3, "p90": most, "p99": most, "max": most}


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_the_last_of_a_histogram_counts_all_larger_values(dtype):
    values = np.random.default_rng(3).integers(0, 60, 5000).astype(dtype)
    values[7] = np.iinfo(dtype).max
    counts = np.full(21, 5)
    _native.add_to_histogram(values, counts)
    np.testing.assert_array_equal(counts, np.bincount(np.minimum(values, 20).astype(int), minlength=21) + 5)
    with pytest.raises(ValueError, match="one at least"):
        _native.add_to_histogram(values, np.empty(0, np.int64))
