"""What a device samples is what the CPU samples, bit for bit: over any lists, partitions, fanouts and excluded edges."""

from dataclasses import fields

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from live_bytes import LiveBytes

from marius_lite import _native
from marius_lite.config.encoder_memory import EncoderSizes, ResidentGraph, encoder_device_bytes, reached
from marius_lite.config.load import load
from marius_lite.device.neighbours import LEAST_TABLE, DeviceNeighbours
from marius_lite.graph.adjacency import PartitionLists, source_dtype
from marius_lite.graph.partitioning import Partitioning
from marius_lite.sampling.neighbours import NeighbourSample
from marius_lite.storage.engine import empty_for_range


def own_pages(array):
    memory = empty_for_range(array.dtype, 0, len(array), own_pages=True)
    memory[:] = array
    return memory


def lists_of(partitioning, k, edges, relations=True):
    """Partition k's lists of ``edges`` (m, 3): source, destination, relation."""
    mine = edges[edges[:, 1] // partitioning.rows == k]
    mine = mine[np.lexsort((mine[:, 2], mine[:, 0], mine[:, 1]))]
    counts = np.bincount(mine[:, 1] - k * partitioning.rows, minlength=partitioning.size(k))
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    dtype = source_dtype(partitioning.nodes)
    rel = own_pages(mine[:, 2].astype(np.uint32)) if relations else None
    return PartitionLists(own_pages(indptr), own_pages(mine[:, 0].astype(dtype)), rel)


class Pair:
    """The CPU's sampler and a device's, over the same lists."""

    def __init__(self, accelerator, partitioning, edges, relations=True, room=0):
        self.partitioning, self.edges, self.relations = partitioning, edges, relations
        wide = source_dtype(partitioning.nodes) == np.uint64
        self.cpu = (_native.WideNeighbourSampler if wide else _native.NeighbourSampler)(partitioning.rows, partitioning.nodes)
        self.device = DeviceNeighbours(accelerator, partitioning, room)
        self.here = {}

    def enter(self, base_rows):
        for k in self.here:
            self.cpu.leave(k)
        self.here = {k: (row, lists_of(self.partitioning, k, self.edges, self.relations)) for k, row in base_rows.items()}
        for k, (row, lists) in self.here.items():
            self.cpu.enter(k, row, lists.indptr, lists.sources, lists.rel)
        self.device.leave(())
        self.device.enter(self.here)

    def check(self, seeds, fanouts, seed, exclude=None, both=False):
        exclude = None if exclude is None else np.ascontiguousarray(exclude)
        expected = NeighbourSample(**self.cpu.sample(seeds, list(fanouts), seed, 1, exclude, both))
        found = self.device.sample(seeds, fanouts, seed, exclude, both)
        for field in fields(NeighbourSample):
            left, right = getattr(found, field.name), getattr(expected, field.name)
            assert type(left) is type(right), field.name
            if isinstance(left, np.ndarray):
                assert left.dtype == right.dtype, field.name
                np.testing.assert_array_equal(left, right, field.name)
            else:
                assert left == right, field.name
        return found


def random_edges(rng, nodes, count):
    """Some nodes have many in-edges; edges repeat."""
    return np.stack([rng.integers(0, nodes, count), rng.integers(0, nodes, count) ** 3 // nodes**2, rng.integers(0, 3, count)], 1)


@given(
    st.integers(0, 2**32),
    st.integers(1, 60),
    st.integers(1, 9),
    st.integers(0, 400),
    st.booleans(),
    st.lists(st.sampled_from([-1, 0, 1, 2, 5, 32, 33, 60]), max_size=3),
)
@settings(max_examples=150, deadline=None)
def test_any_batch(make_device, seed, nodes, partitions, count, relations, fanouts):
    rng = np.random.default_rng(seed)
    room = int(rng.choice([0, 500, 1 << 20]))  # lists are pinned, some of them, or all copied to the device
    pair = Pair(make_device(seed), Partitioning(nodes, partitions), random_edges(rng, nodes, count), relations, room)
    p = pair.partitioning
    for _ in range(2):
        resident = rng.permutation(p.partitions)[: rng.integers(1, p.partitions + 1)].tolist()
        pair.enter({k: 100 * place for place, k in enumerate(resident)})
        here = np.concatenate([p.range(k) for k in resident])
        seeds = rng.permutation(here)[: rng.integers(0, len(here) + 1)]
        pair.check(seeds, fanouts, seed)
        excluded = np.concatenate([pair.edges[rng.random(count) < 0.4][:, :2], rng.integers(-3, nodes + 3, (20, 2))])
        pair.check(seeds, fanouts, seed, excluded, both=bool(rng.integers(2)))
    pair.device.close()
    assert pair.device.room == room


@pytest.fixture
def large(make_device):
    rng = np.random.default_rng(1)
    pair = Pair(make_device(3), Partitioning(5000, 8), random_edges(rng, 5000, 100_000))
    pair.enter({k: 700 * k for k in (0, 1, 3, 4, 5, 7)})
    yield pair
    pair.device.close()


def test_the_table_grows_with_the_batch_and_forgets_the_one_before(large):
    nodes = large.partitioning.range(0)
    sizes = []
    for seeds, fanouts in ((nodes[:3], [1]), (nodes[:50], [20, 20]), (nodes[1:4], [2, 2]), (nodes, [-1, -1])):
        found = large.check(np.array(seeds), fanouts, len(sizes))
        sizes.append(len(large.device.keys))
        assert sizes[-1] >= 2 * len(found.nodes)
    assert sizes[0] == LEAST_TABLE < sizes[1] == sizes[2] <= sizes[3]


def test_everything_excluded_leaves_nothing(large):
    rows = large.edges[np.isin(large.edges[:, 1], [0, 1, 2])]
    found = large.check(np.arange(3), [-1, 5], 7, rows[:, :2])
    assert len(found.indices) == 0
    assert found.missing > 0


def test_ids_beyond_32_bits(make_device):
    partitioning = Partitioning((1 << 32) + 50, 1 << 15)
    rng = np.random.default_rng(2)
    ks = [0, 5, partitioning.partitions - 1]
    ids = np.concatenate([partitioning.range(k)[-60:] for k in ks])
    edges = np.stack([ids[rng.integers(0, len(ids), 900)], ids[rng.integers(0, len(ids), 900)], rng.integers(0, 3, 900)], 1)
    edges[::7, 0] += partitioning.rows  # of a partition that is not here
    pair = Pair(make_device(1), partitioning, edges[edges[:, 0] < partitioning.nodes])
    pair.enter({k: 1000 * place for place, k in enumerate(ks)})
    assert len(pair.check(rng.permutation(ids), [4, 40], 5, edges[::9, :2]).indices) > 500
    pair.device.close()


def test_bad_seeds_are_refused_as_by_the_cpu(large):
    for seeds, why in (([3, 8, 3], "stands there twice"), ([0, 1500], "are not here"), ([0, 5000], "no node"), ([-1], "no node")):
        said = []
        for sampler in (large.cpu, large.device):
            with pytest.raises(ValueError, match=why) as error:
                sampler.sample(np.array(seeds), [2], 0)
            said.append(str(error.value))
        assert said[0] == said[1]
    large.check(np.array([8, 3]), [2], 0)


def test_lists_are_pinned_once_and_given_up_when_they_leave(large):
    before = {k: list(pinned) for k, pinned in large.device._pinned.items()}
    assert all(len(pinned) == 3 for pinned in before.values())
    large.device.enter({k: (10 * k, large.here[k][1]) for k in (0, 3)})
    assert large.device._pinned == {k: before[k] for k in (0, 3)}
    for k, pinned in before.items():
        for each in pinned:
            if k in (0, 3):
                assert each.address
            else:
                with pytest.raises(RuntimeError, match="closed"):
                    _ = each.address
    assert large.device.sample(np.array([3 * 625]), [], 0).rows.tolist() == [30]


def test_lists_are_copied_while_there_is_room(make_device):
    pair = Pair(make_device(3), Partitioning(5000, 8), random_edges(np.random.default_rng(1), 5000, 100_000))
    lists = lists_of(pair.partitioning, 0, pair.edges)
    whole = lists.indptr.nbytes + lists.sources.nbytes + lists.rel.nbytes
    pair.device.room = whole + 10
    pair.enter({0: 0, 3: 9000})
    assert pair.device.room == 10
    assert [len(pair.device._pinned[k]) for k in (0, 3)] == [0, 3]
    pair.check(np.arange(20), [5, 5], 1)
    pair.enter({3: 9000})
    assert 0 < pair.device.room < whole
    pair.device.close()
    assert pair.device.room == whole + 10


def test_lists_are_pinned_where_the_device_is_full(make_device, monkeypatch):
    def full(*_):
        raise torch.cuda.OutOfMemoryError("no room")

    monkeypatch.setattr(DeviceNeighbours, "_copied", full)
    pair = Pair(make_device(3), Partitioning(100, 2), random_edges(np.random.default_rng(1), 100, 500), room=1 << 40)
    pair.enter({0: 0, 1: 100})
    assert pair.device.room == 0
    pair.check(np.arange(20), [5, 5], 1)
    pair.device.close()


def test_the_plan_counts_what_a_batch_takes(large):
    """Bytes of tensors that live at the same time, at most, on the way of the largest batch there can be."""
    if large.device.accelerator.device.type != "cpu":
        pytest.skip("bytes are counted on the CPU")
    settings = ["task=node_classification", "model.encoder=sage", "model.layers=[4]"]
    edges = sum(len(lists.sources) for _, lists in large.here.values())
    for count, fanouts in ((300, [4, 4]), (600, [40, 40]), (600, [2, 2])):
        config = load(sets=[*settings, f"sampling.fanouts={fanouts}"])
        sizes = EncoderSizes(count, ResidentGraph(6 * 625, edges, 3, ranges=3), 1, 1, 1)
        seeds = np.arange(count)
        with LiveBytes() as live:
            large.device.sample(seeds, fanouts, 1, np.stack([seeds, seeds[::-1]], 1)[: count // 2], both=True)
        most = encoder_device_bytes(config, sizes, 0)["sampling"]
        assert live.most <= most, (live.most, most, reached(config, count, sizes.graph))
        assert live.most > most / 20


def test_torch_is_left_as_it_was(large):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    large.device.sample(np.arange(100), [5, 5], 0)
    assert torch.rand(3).tolist() == expected.tolist()
