"""Samples that grow in passes over lists on disk are those of lists in memory, whatever is drawn."""

import shutil
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling_tools import in_lists, make_sampler
from weighted_dataset import with_weights

from marius_lite import _native
from marius_lite.errors import UserError
from marius_lite.graph import Dataset
from marius_lite.preprocess import make_dataset
from marius_lite.sampling.neighbours import NeighbourLists
from marius_lite.sampling.passes import ListsOnDisk

ARRAYS = ("nodes", "rows", "hop_nodes", "indptr", "indices", "rel", "hop_edges")


def rows_of(relations):
    rng = np.random.default_rng(relations)
    return np.stack([rng.integers(0, 200, 4000), rng.integers(0, relations, 4000), rng.integers(0, 200, 4000) ** 2 // 200], 1)


@pytest.fixture(scope="module", params=["plain", "relations", "weights"])
def dataset(request, tmp_path_factory):
    """200 nodes in 5 partitions, 4,000 edges."""
    folder, rows = tmp_path_factory.mktemp("dataset"), rows_of(3 if request.param == "relations" else 1)
    np.save(folder / "e.npy", rows if request.param == "relations" else rows[:, [0, 2]])
    made = make_dataset(folder / "e.npy", folder / "d", partitions=5, adjacency="in")
    if request.param != "weights":
        return made
    return Dataset.open(with_weights(made.path, folder / "w", lambda src, dst, rel: (src + 3 * dst) % 5).path)


def same(found, expected):
    for name in ARRAYS:
        ours, theirs = getattr(found, name), getattr(expected, name)
        assert (ours is None) == (theirs is None)
        assert ours is None or (ours.dtype == theirs.dtype and np.array_equal(ours, theirs)), name
    return (found.neighbours, found.missing) == (expected.neighbours, 0)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 199), min_size=1, max_size=30, unique=True), min_size=1, max_size=4),
    st.lists(st.sampled_from([-1, 0, 1, 3, 20]), min_size=1, max_size=3),
    st.integers(0, 2**64 - 10),
    st.booleans(),
)
def test_the_samples_are_those_of_lists_in_memory(dataset, batches, fanouts, seed, by_relation):
    p, weighted = dataset.partitioning, dataset.adjacency.has_weights
    if by_relation and dataset.manifest.relations > 1:
        fanouts = [np.array([fanout, 2, 0]) for fanout in fanouts]
    with (
        closing(NeighbourLists(dataset.adjacency, degrees=True, weighted=weighted)) as memory,
        closing(ListsOnDisk(dataset.adjacency, degrees=True, weighted=weighted)) as disk,
    ):
        bases = {k: k * p.rows for k in range(p.partitions)}
        memory.enter(bases)
        disk.enter(bases)
        requests = [(np.array(nodes, np.int64), seed + x) for x, nodes in enumerate(batches)]
        disk.foresee(requests[:-1], fanouts, threads=2)  # the last one is not foreseen
        for nodes, own in requests:
            found = disk.sample(nodes, fanouts, own, threads=1)
            assert same(found, memory.sample(nodes, fanouts, own, threads=1))
            assert np.array_equal(disk.degrees(found.rows), memory.degrees(found.rows))


def test_a_pass_reads_the_lists_of_partitions_that_have_nodes_alone(dataset):
    p, counts = dataset.partitioning, np.diff(dataset.adjacency.starts)
    with closing(ListsOnDisk(dataset.adjacency)) as lists:
        seeds = np.arange(p.rows, p.rows + 4)  # of partition 1
        lists.foresee([(seeds, 0), (seeds, 1)], [3])
        assert lists.edges_moved == counts[1]
        lists.sample(seeds, [3], 0)
        lists.sample(seeds, [3], 1)
        assert lists.edges_moved == counts[1]
        lists.sample(seeds, [3], 0)  # each is given once
        assert lists.edges_moved == 2 * counts[1]


def test_changed_lists_are_told(dataset, tmp_path):
    shutil.copytree(dataset.path, tmp_path / "d")
    (chunk,) = (tmp_path / "d/adjacency/in/sources/c").iterdir()
    data = bytearray(chunk.read_bytes())
    data[40] ^= 1
    chunk.write_bytes(data)
    with closing(ListsOnDisk(Dataset.open(tmp_path / "d").adjacency)) as lists, pytest.raises(UserError, match="checksum"):
        lists.sample(np.arange(150), [2], 0)


@pytest.mark.parametrize("wide", [False, True])
def test_passes_out_of_order_are_refused(wide):
    edges = [(src, (7 * src) % 40, 0) for src in range(40)]
    lists = in_lists(40, 10, edges)
    kind = _native.WideNeighbourSampler if wide else _native.NeighbourSampler
    sampler, sources = kind(10, 40, everywhere=True), np.uint64 if wide else np.uint32

    def enter(k):
        sampler.enter(k, 0, lists[k][0], lists[k][1].astype(sources), None)

    grower = sampler.begin(np.array([3, 13]), [2, 2], 0)
    assert grower.in_partitions.tolist() == [1, 1, 0, 0]
    with pytest.raises(ValueError, match="partition 0: its lists are not here"):
        sampler.draw([grower], 0)
    enter(1)
    with pytest.raises(ValueError, match="partition 1: each partition with nodes draws once in a hop, in order"):
        sampler.draw([grower], 1)
    with pytest.raises(ValueError, match="not all partitions with nodes have drawn"):
        sampler.close_hop([grower])
    with pytest.raises(ValueError, match="not all hops are closed"):
        sampler.grown(grower)
    enter(0)
    sampler.draw([grower], 0)
    sampler.draw([grower], 1)
    with pytest.raises(ValueError, match="partition 1: each partition"):
        sampler.draw([grower], 1)
    sampler.close_hop([grower])
    for k in (2, 3):
        enter(k)
    for k in range(4):
        sampler.draw([grower], k)
    sampler.close_hop([grower])
    with pytest.raises(ValueError, match="the sample has all its hops"):
        sampler.draw([grower], 0)
    with pytest.raises(ValueError, match="no node"):
        sampler.begin(np.array([40]), [1], 0)
    resident = make_sampler(40, 10, lists, {0: 0}, relations=False, wide=wide)
    with pytest.raises(ValueError, match="draws among resident sources only"):
        resident.begin(np.array([3]), [1], 0)
