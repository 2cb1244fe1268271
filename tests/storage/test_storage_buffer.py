"""The partition buffer: one suite for direct and buffered I/O, against a model held in memory."""

import gc
import re
import time

import numpy as np
import pytest
import zarr
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

import marius_lite._native as _native
from marius_lite.errors import RunError
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import RowTable


@pytest.fixture(params=[True, False], ids=["direct", "buffered"])
def direct(request):
    return request.param


def filled(path, nodes, width, rows):
    """A table and its values; the values of row i differ from those of every other row."""
    table = RowTable.create(path, nodes, width, rows)
    values = np.arange(nodes * width, dtype=np.float32).reshape(nodes, width)
    zarr.open_array(path)[:] = values
    return table, values


def part(values, table, k):
    return values[k * table.rows_per_partition : (k + 1) * table.rows_per_partition]


@pytest.mark.parametrize(
    ("width", "nodes", "rows"),
    [(4, 1000, 256), (4, 1, 1), (8, 999, 500), (100, 2001, 667), (104, 3000, 1000), (12, 70_000, 30_000)],
)
def test_what_was_loaded_is_what_zarr_wrote_and_back(tmp_path, direct, width, nodes, rows):
    table, values = filled(tmp_path / "t", nodes, width, rows)
    last = table.partitions - 1
    with PartitionBuffer(table, 1, direct=direct) as buffer:
        assert buffer.rows.shape == (buffer.slot_rows, width)
        assert buffer.slot_rows % 256 == 0
        assert 0 <= buffer.slot_rows - rows < 256
        for k in range(table.partitions):
            buffer.enter([k])
            assert np.array_equal(buffer.resident.view(k), part(values, table, k))
        buffer.resident.view(last)[:] = -1
        buffer.mark_dirty([last])
    values[last * rows :] = -1
    assert np.array_equal(zarr.open_array(tmp_path / "t")[:], values)
    assert all(table.chunk_path(k).stat().st_size == table.chunk_bytes for k in range(table.partitions))
    assert [p.name for p in table.chunk_path(last).parent.iterdir()] == ["0"]


def test_checksums_are_those_of_the_files(tmp_path, direct):
    table, _ = filled(tmp_path / "t", 70_000, 8, 30_000)
    with PartitionBuffer(table, 2, direct=direct) as buffer:
        for k in range(3):
            buffer.adopt(k)[:] = k + 0.5
            buffer.enter([])
        checksums = buffer.flush()
        assert checksums == {k: _native.crc32c(np.fromfile(table.chunk_path(k), np.uint8)) for k in range(3)}
        buffer.enter([0, 1])
    with PartitionBuffer(table, 2, direct=direct) as buffer:
        buffer.expect({**checksums, 2: 1})
        buffer.enter([0])
        with pytest.raises(RunError, match=r"c/2/0: the checksum is \d+, expected 1: the file was changed"):
            buffer.enter([2])
        assert buffer.state(2) == "on_disk"


def test_a_file_of_wrong_size_or_absent_is_named(tmp_path, direct):
    table, _ = filled(tmp_path / "t", 1000, 4, 300)
    table.chunk_path(1).write_bytes(bytes(4801))
    table.chunk_path(2).unlink()
    with PartitionBuffer(table, 2, direct=direct) as buffer:
        with pytest.raises(RunError, match=r"c/1/0: the file holds 4801 bytes, expected 4800"):
            buffer.enter([1])
        with pytest.raises(RunError, match=r"c/2/0: open: No such file"):
            buffer.enter([2])
        buffer.enter([0])


def test_calls_that_cannot_be_met_are_refused(tmp_path, direct):
    table, _ = filled(tmp_path / "t", 1000, 4, 300)
    with PartitionBuffer(table, 2, direct=direct) as buffer:
        with pytest.raises(ValueError, match="3 partitions do not fit in 2 slots"):
            buffer.enter([0, 1, 2])
        with pytest.raises(ValueError, match="partition 4 does not exist: the table has 4"):
            buffer.enter([0], [4])
        with pytest.raises(ValueError, match="partition 1 is named twice"):
            buffer.enter([1], [1])
        with pytest.raises(ValueError, match="partition 0 is on_disk"):
            buffer.resident.base_row(0)
        with pytest.raises(ValueError, match="partition 0 is on_disk"):
            buffer.mark_dirty([0])
    with pytest.raises(RunError, match="closed"):
        buffer.enter([0])


def test_counters_count_what_moved(tmp_path, direct):
    table, _ = filled(tmp_path / "t", 1000, 4, 300)
    with PartitionBuffer(table, 2, direct=direct) as buffer:
        buffer.enter([0, 1])
        buffer.mark_dirty([1])
        buffer.enter([1, 2])
        buffer.flush()
        counters = buffer.counters()
        size = 8192 if buffer.direct else 4800
        moved = [counters[name] for name in ("loads", "writes", "bytes_read", "bytes_written")]
        assert moved == [3, 1, 3 * size, size]
        assert counters["wait_s"] > 0
        assert counters["read_s"] > 0
        assert counters["write_s"] > 0


def test_past_transfers_are_told_once_with_their_times(tmp_path, direct):
    table, _ = filled(tmp_path / "t", 1000, 4, 300)
    before = time.perf_counter()
    with PartitionBuffer(table, 2, direct=direct) as buffer:
        buffer.enter([0, 1])
        buffer.mark_dirty([1])
        buffer.enter([0, 2])
        buffer.flush()
        past = buffer.take_past()
        assert sorted((one.partition, one.is_write) for one in past) == [(0, False), (1, False), (1, True), (2, False)]
        assert all(before <= one.begin <= one.end <= time.perf_counter() for one in past)
        left, came = (next(one for one in past if one[:2] == key) for key in ((1, True), (2, False)))
        assert left.end <= came.begin + 1e-6  # there was no other slot
        assert buffer.take_past() == []


def test_prefetch_takes_as_many_as_fit_and_never_loads_twice(tmp_path, direct):
    table, _ = filled(tmp_path / "t", 1000, 4, 100)
    with PartitionBuffer(table, 3, direct=direct) as buffer:
        buffer.enter([0], [1, 2, 3, 4])
        buffer.enter([1, 2], [3])
        buffer.enter([3], [4, 1, 2])  # two of the three fit: those that are there already
        buffer.enter([1, 2, 3])
        assert buffer.counters()["loads"] == 4


def test_a_view_outlives_the_buffer(tmp_path, direct):
    table, values = filled(tmp_path / "t", 300, 4, 300)
    buffer = PartitionBuffer(table, 1, direct=direct)
    buffer.enter([0])
    view = buffer.resident.view(0)
    buffer.close()
    del buffer
    gc.collect()
    assert np.array_equal(view, values)


def test_an_exception_closes_without_writing(tmp_path, direct):
    table, values = filled(tmp_path / "t", 300, 4, 300)

    def train():
        with PartitionBuffer(table, 1, direct=direct) as buffer:
            buffer.enter([0])
            buffer.resident.view(0)[:] = 0
            buffer.mark_dirty([0])
            raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        train()
    assert np.array_equal(zarr.open_array(tmp_path / "t")[:], values)


def resident_kib():
    with open("/proc/self/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])


def test_opening_and_closing_again_takes_no_more_memory(tmp_path, direct):
    table, _ = filled(tmp_path / "t", 40_000, 32, 10_000)  # 1.2 MiB a partition

    def once():
        with PartitionBuffer(table, 3, direct=direct) as buffer:
            buffer.enter([0, 1], [2])
            buffer.mark_dirty([0])
            buffer.enter([2], [3])

    for _ in range(5):
        once()
    before = resident_kib()
    for _ in range(40):
        once()
    assert resident_kib() - before < 4096  # one leaked buffer alone would take 3900


class Model(RuleBasedStateMachine):
    """Random use of the buffer: every read finds what the last write left, the files in the end too."""

    folder = None
    direct = True

    @initialize(
        partitions=st.integers(1, 6),
        rows=st.integers(1, 700),
        width=st.integers(1, 26),
        slots=st.integers(1, 4),
        short=st.integers(0, 50),
        threads=st.integers(1, 4),
    )
    def start(self, partitions, rows, width, slots, short, threads):
        nodes = partitions * rows - min(short, rows - 1)
        self.table, values = filled(self.folder.mktemp("model") / "t", nodes, 4 * width, rows)
        self.values = values.copy()
        self.buffer = PartitionBuffer(self.table, slots, threads, self.direct)
        self.now = []
        self.version = 0.0

    def partitions(self, data, most):
        every = st.lists(st.integers(0, self.table.partitions - 1), unique=True, max_size=most)
        return data.draw(every, label="partitions")

    @rule(data=st.data())
    def enter(self, data):
        self.now = self.partitions(data, self.buffer.slots)
        following = [k for k in self.partitions(data, self.table.partitions) if k not in self.now]
        self.buffer.enter(self.now, following)

    @precondition(lambda self: self.now)
    @rule(data=st.data())
    def train(self, data):
        k = data.draw(st.sampled_from(self.now), label="partition")
        i = data.draw(st.integers(0, self.table.size(k) - 1), label="row")
        self.version += 1
        self.buffer.rows[self.buffer.resident.base_row(k) + i] = -self.version
        part(self.values, self.table, k)[i] = -self.version
        self.buffer.mark_dirty([k])

    @rule(data=st.data())
    def adopt(self, data):
        k = data.draw(st.integers(0, self.table.partitions - 1), label="partition")
        self.buffer.enter([])
        self.buffer.flush()
        self.buffer.adopt(k)
        self.now = [k]
        part(self.values, self.table, k)[:] = 0

    @rule()
    def flush(self):
        self.buffer.flush()
        assert np.array_equal(zarr.open_array(self.table.path)[:], self.values)

    @invariant()
    def rows_of_now_are_the_model_s(self):
        for k in getattr(self, "now", []):
            assert self.buffer.state(k) in ("resident", "dirty")
            assert np.array_equal(self.buffer.resident.view(k), part(self.values, self.table, k))

    def teardown(self):
        if not hasattr(self, "buffer"):
            return
        checksums = self.buffer.flush()
        self.buffer.close()
        assert np.array_equal(zarr.open_array(self.table.path)[:], self.values)
        for k, checksum in checksums.items():
            assert checksum == _native.crc32c(np.fromfile(self.table.chunk_path(k), np.uint8))


def test_any_sequence_of_calls_equals_the_model(tmp_path_factory, direct):
    machine = type("Machine", (Model,), {"folder": tmp_path_factory, "direct": direct})
    chosen = settings(max_examples=25, stateful_step_count=25, deadline=None)
    run_state_machine_as_test(machine, settings=chosen)
