"""Every batch finds its rows, however few stay in memory and however small windows are. The rows taken most often stay."""

import os
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite._native import place_rows
from marius_lite.config.packing import Packing
from marius_lite.errors import RunError
from marius_lite.rows.packer import InWindow, Packer
from marius_lite.storage.checksum import file_checksum
from marius_lite.storage.table import RowTable

WIDTH = 12


@pytest.fixture(scope="module")
def values():
    return np.random.default_rng(0).normal(size=(210, WIDTH)).astype(np.float32)


@pytest.fixture(scope="module")
def table(values, tmp_path_factory):
    """210 rows in partitions of 40, with checksums."""
    found = RowTable.create(tmp_path_factory.mktemp("table") / "rows", len(values), WIDTH, 40)
    for k in range(found.partitions):
        with found.writing(k) as write:
            write(values[40 * k : 40 * (k + 1)])
    sums = {k: file_checksum(found.chunk_path(k), found.chunk_bytes) for k in range(found.partitions)}
    return found.expecting(sums)


def keyed(batches, generation=0):
    """(key, batch, nodes) of (batch, nodes) pairs."""
    return [((generation, 0, index), batch, nodes) for index, (batch, nodes) in enumerate(batches)]


def packed(packer, batches):
    """The windows of (name, nodes) pairs, all packed one after another."""
    for window in packer.windows(keyed(batches)):
        yield packer.pack(window, threading.Event())


def check(packer, batches, values):
    """Each batch, a name and its nodes, comes in turn, and finds its rows in memory in the order of its nodes."""
    seen = []
    for window in packed(packer, [((name, nodes), nodes) for name, nodes in batches]):
        for pack in range(len(window.batches)):
            name, nodes = packer.sample(InWindow(window, pack))
            places, cold = packer.places(nodes)
            packer.read(InWindow(window, pack), cold)
            np.testing.assert_array_equal(packer.memory[places], values[nodes])
            seen.append((name, nodes.tolist()))
        packer.done(window)
    assert seen == [(name, nodes.tolist()) for name, nodes in batches]


@settings(max_examples=40, deadline=None)
@given(
    hot=st.integers(0, 200), window=st.integers(1, 300), block=st.sampled_from([100, 500, 1 << 20]), seed=st.integers(0, 10_000)
)
def test_every_batch_finds_its_rows(table, values, tmp_path_factory, hot, window, block, seed):
    rng = np.random.default_rng(seed)
    batches = [(k, rng.permutation(210)[: rng.integers(0, 90)]) for k in range(rng.integers(1, 9))]
    packing = Packing(hot, int(rng.integers(1, 90)), window, WIDTH * 4, block)
    packer = Packer(table, packing, tmp_path_factory.mktemp("packs"))
    check(packer, batches, values)
    check(packer, batches[::-1], values)  # another epoch


def test_what_is_taken_most_often_stays(table, values, tmp_path):
    often, once = np.array([3, 50, 209]), np.arange(100, 120)
    batches = [(k, np.concatenate([often, once[4 * k : 4 * k + 4]])) for k in range(5)]
    packer = Packer(table, Packing(3, 10, 1000, WIDTH * 4), tmp_path)
    check(packer, batches, values)
    np.testing.assert_array_equal(packer.memory[:3], values[often])
    for _, nodes in batches:
        assert packer.places(nodes)[1] == 4
    assert packer.bytes_written == 20 * WIDTH * 4 + 64 * 5
    assert packer.bytes_read == 4 * table.chunk_bytes + packer.bytes_written


def test_only_partitions_with_wanted_rows_are_read(table, tmp_path):
    packer = Packer(table, Packing(0, 10, 1000, WIDTH * 4), tmp_path)
    list(packed(packer, [("one", np.array([45, 41])), ("two", np.array([165]))]))
    assert packer.bytes_read == 2 * table.chunk_bytes
    packer.close()


def test_a_window_keeps_to_its_rows_unless_one_batch_has_more(table, tmp_path):
    packer = Packer(table, Packing(0, 10, 12, WIDTH * 4), tmp_path)
    batches = [(n, np.arange(n)) for n in (5, 7, 3, 30, 1, 11)]
    windows = [
        [packer.sample(InWindow(window, pack)) for pack in range(len(window.batches))]
        for window in packer.windows(keyed(batches))
    ]
    assert windows == [[5, 7], [3], [30], [1, 11]]
    before = len(os.listdir("/proc/self/fd"))
    packer.close()
    assert len(os.listdir("/proc/self/fd")) == before - 4


def test_samples_take_their_part_of_a_window(table, tmp_path):
    packer = Packer(table, Packing(0, 10, 12, WIDTH * 4, 8 * WIDTH * 4), tmp_path)
    batches = [(np.zeros(8 * WIDTH * 4, np.uint8), np.arange(2)) for _ in range(4)]
    assert [len(window.batches) for window in packer.windows(keyed(batches))] == [1, 1, 1, 1]
    packer.close()


def test_damaged_rows_reach_no_batch(table, values, tmp_path):
    damaged = table.expecting({**table.checksums, 2: table.checksums[2] ^ 1})
    packer = Packer(damaged, Packing(5, 10, 1000, WIDTH * 4), tmp_path)
    with pytest.raises(RunError, match=r"c/2/0: does not match its checksum"):
        list(packed(packer, [("one", np.array([1, 95, 200]))]))


def test_packing_ends_where_it_is_asked_to(table, tmp_path):
    packer, stop = Packer(table, Packing(5, 10, 1000, WIDTH * 4), tmp_path), threading.Event()
    stop.set()
    (window,) = packer.windows(keyed([("one", np.arange(20))]))
    assert packer.pack(window, stop) is None
    check(packer, [("one", np.arange(20)[::-1])], packer._table.read_rows(0, np.arange(40)))  # and all is well the next time


def test_a_node_is_placed_where_it_stays_or_by_its_order():
    places = np.array([4, -1, 0, -1, -1, 7], np.int32)
    rows, others = place_rows(places, np.array([3, 0, 1, 5]), 10)
    assert rows.tolist() == [11, 4, 10, 7]
    assert others.tolist() == [1, 3]
    rows, others = place_rows(places, np.empty(0, np.int64), 10)
    assert len(rows) == len(others) == 0
    for node in (-1, 6):
        with pytest.raises(ValueError, match=f"node {node} of 6"):
            place_rows(places, np.array([1, node]), 10)


def test_windows_use_the_same_file_and_give_it_back(table, tmp_path):
    packer = Packer(table, Packing(0, 10, 5, WIDTH * 4), tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(2):
        files = []
        for window in packer.windows(keyed([(each, np.arange(4 * each, 4 * each + 4)) for each in range(5)])):
            packed = packer.pack(window, threading.Event())
            files.append(packed.packs.take_file())
            packer.done(packed)
        assert len(files) > 2
        assert len(set(map(id, files))) == 1
        packer.abandon()
        assert len(os.listdir("/proc/self/fd")) == before
    packer.close()


def test_windows_are_kept_as_far_as_they_fit_until_another_generation(table, values, tmp_path):
    one = 4 * WIDTH * 4 + 64  # bytes of a batch of 4 rows and its sample
    packer = Packer(table, Packing(0, 10, 5, WIDTH * 4, 0, refresh=3, kept_bytes=2 * one), tmp_path)
    nodes = [np.arange(4 * k, 4 * k + 4) for k in range(4)]
    for window in packer.windows(keyed([(each, each) for each in nodes])):
        packer.done(packer.pack(window, threading.Event()))
    kept = packer.kept(0)
    assert list(kept) == [(0, 0, 0), (0, 0, 1)]
    for key, at in kept.items():
        places, cold = packer.places(packer.sample(at))
        packer.read(at, cold)
        np.testing.assert_array_equal(packer.memory[places], values[nodes[key[2]]])
    packer.abandon()
    assert list(packer.kept(0)) == list(kept)
    before = len(os.listdir("/proc/self/fd"))
    assert packer.kept(1) == {}
    assert len(os.listdir("/proc/self/fd")) == before - 4
    for window in packer.windows(keyed([(each, each) for each in nodes], generation=1)):
        packer.done(packer.pack(window, threading.Event()))
    assert list(packer.kept(1)) == [(1, 0, 0), (1, 0, 1)]
    packer.close()
