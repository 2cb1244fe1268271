"""Rows against the checksums of their files."""

import numpy as np
import pytest

from marius_lite._native import crc32c
from marius_lite.errors import NotFinite, RunError, UserError
from marius_lite.storage.bfloat16 import BITS, to_bfloat16
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import SPAN_BYTES, RowTable

ROWS = 3 * SPAN_BYTES // (64 * 2)  # a partition is one span and a half


def stored(path, nodes=2 * ROWS - 5, rows=ROWS):
    """A table with checksums, and its values."""
    table = RowTable.create(path, nodes, 16, rows)
    values = np.random.default_rng(0).standard_normal((table.partitions * rows, 16)).astype(np.float32)
    for k in range(table.partitions):
        table.chunk_path(k).write_bytes(values[k * rows : (k + 1) * rows].tobytes())
    sums = {k: crc32c(np.fromfile(table.chunk_path(k), np.uint8)) for k in range(table.partitions)}
    return table.expecting(sums), values[:nodes]


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 16]))


def test_a_partition_is_read_whole_and_compared(tmp_path):
    table, values = stored(tmp_path / "t")
    for k in (0, 1):
        out = np.empty((table.size(k), 3), np.float32)
        table.read_into(k, out)
        assert np.array_equal(out, values[k * ROWS :][: len(out), :3])


@pytest.mark.parametrize("at", [0, 20, SPAN_BYTES + 7, ROWS * 64 - 1])
def test_any_changed_byte_is_noticed_by_every_way_of_reading(tmp_path, at):
    """The last are of rows past the nodes, which mean nothing."""
    table, _ = stored(tmp_path / "t")
    flip(table.chunk_path(1), at)
    said = r"c/1/0: does not match its checksum, the file was changed or is damaged"
    with pytest.raises(RunError, match=said):
        table.read_into(1, np.empty((table.size(1), 1), np.float32))
    for _ in range(2):
        with pytest.raises(RunError, match=said):
            table.read_rows(1, [3])
    with PartitionBuffer(table, 1) as buffer, pytest.raises(RunError, match=r"c/1/0: the checksum is"):
        buffer.enter([1])
    assert table.read_rows(0, [3]).shape == (1, 16)


def test_a_file_is_compared_once_for_any_number_of_rows(tmp_path):
    table, values = stored(tmp_path / "t", 100, 60)
    assert np.array_equal(table.read_rows(1, [3]), values[[63]])
    flip(table.chunk_path(1), 0)
    table.read_rows(1, [3])
    with pytest.raises(RunError):
        table.expecting(table.checksums).read_rows(1, [3])


def test_checksums_of_some_partitions_are_not_enough(tmp_path):
    table, _ = stored(tmp_path / "t", 100, 60)
    for sums in ({0: 1}, {0: 1, 1: 1, 2: 1}, {}):
        with pytest.raises(UserError, match=f"{len(sums)} checksums are known of its 2 partitions"):
            table.expecting(sums)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (299, 7)])
@pytest.mark.parametrize("direct", [True, False])
def test_what_is_not_finite_is_not_written(tmp_path, wrong, place, direct):
    table = RowTable.create(tmp_path / "t", 600, 8, 300)
    with PartitionBuffer(table, 1, direct=direct) as buffer:
        buffer.enter([1])
        buffer.resident.view(1)[:] = 1
        buffer.mark_dirty([1])
        before = buffer.flush()
        buffer.resident.view(1)[place] = wrong
        buffer.mark_dirty([1])
        for call in (buffer.flush, lambda: buffer.enter([0])):
            with pytest.raises(NotFinite, match=r"c/1/0: a number is not finite"):
                call()
        assert (np.fromfile(table.chunk_path(1), np.float32) == 1).all()
        assert [path.name for path in table.chunk_path(1).parent.iterdir()] == ["0"]
        assert buffer.state(1) == "dirty"
        buffer.resident.view(1)[place] = np.finfo(np.float32).max
        assert buffer.flush() != before
    assert np.fromfile(table.chunk_path(1), np.float32).max() == np.finfo(np.float32).max


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (299, 7)])
def test_what_is_not_finite_in_bfloat16_is_not_written(tmp_path, wrong, place):
    table = RowTable.create(tmp_path / "t", 600, 8, 300, dtype=BITS)
    with PartitionBuffer(table, 1) as buffer:
        buffer.enter([1])
        buffer.resident.view(1)[:] = largest = 0x7F7F  # the largest number
        buffer.resident.view(1)[::2] = 0xFF7F
        buffer.mark_dirty([1])
        buffer.flush()
        buffer.resident.view(1)[place] = to_bfloat16(np.array([wrong], np.float32))[0] if wrong == wrong else 0x7FC0
        buffer.mark_dirty([1])
        with pytest.raises(NotFinite, match=r"c/1/0: a number is not finite"):
            buffer.flush()
        buffer.resident.view(1)[place] = largest
    assert np.fromfile(table.chunk_path(1), np.uint16).max() == 0xFF7F


def test_rows_of_other_types_are_any_bits(tmp_path):
    table = RowTable.create(tmp_path / "t", 8, 16, 8, dtype=np.int8)
    with PartitionBuffer(table, 1) as buffer:
        buffer.enter([0])
        buffer.resident.view(0)[:] = -1
        buffer.mark_dirty([0])
    assert (np.fromfile(table.chunk_path(0), np.int8) == -1).all()
