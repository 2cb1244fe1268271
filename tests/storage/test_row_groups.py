"""Rows come out of groups as they are in the table, and a changed byte is noticed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.errors import RunError
from marius_lite.storage import row_groups
from marius_lite.storage.bfloat16 import BITS, from_bfloat16, to_bfloat16
from marius_lite.storage.row_groups import RowGroups, no_sums, summed_blocks
from marius_lite.storage.table import RowTable

DIM, WIDTH = 50, 64


def made(folder, nodes, rows, dtype):
    values = np.random.default_rng(0).standard_normal((nodes, WIDTH)).astype(np.float32)
    table = RowTable.create(folder / "table", nodes, WIDTH, rows, dtype=dtype)
    stored = to_bfloat16(values.copy()) if table.dtype == BITS else values
    for k in range(table.partitions):
        with table.writing(k) as write:
            write(stored[k * rows : (k + 1) * rows])
    sums = no_sums(table)
    for k in range(table.partitions):
        assert sum(len(block) for _, block in summed_blocks(table, k, sums[k])) == rows
    return table, sums, from_bfloat16(stored) if table.dtype == BITS else stored


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_rows_are_those_of_the_table(tmp_path_factory, data):
    nodes, rows = data.draw(st.integers(1, 400)), data.draw(st.integers(1, 200))
    dtype = data.draw(st.sampled_from([np.dtype(np.float32), BITS]))
    table, sums, values = made(tmp_path_factory.mktemp("groups"), nodes, rows, dtype)
    wanted = np.array(data.draw(st.lists(st.integers(0, nodes - 1), max_size=50)), np.int64)
    groups = RowGroups(table, sums)
    np.testing.assert_array_equal(groups.read(wanted, DIM), values[wanted, :DIM])
    groups.close()


def test_a_changed_byte_is_noticed_where_it_is_read(tmp_path):
    table, sums, values = made(tmp_path, 300, 100, np.float32)
    path = table.chunk_path(1)
    data = bytearray(path.read_bytes())
    data[90 * WIDTH * 4] ^= 1
    path.write_bytes(data)
    groups = RowGroups(table, sums)
    np.testing.assert_array_equal(groups.read(np.array([5, 101, 299]), DIM), values[[5, 101, 299], :DIM])
    with pytest.raises(RunError, match="does not match its checksum"):
        groups.read(np.array([5, 190]), DIM)
    groups.close()


def test_few_files_are_open_and_little_is_in_memory_however_many_partitions_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(row_groups, "TOGETHER", 8)
    table, sums, values = made(tmp_path, 100, 2, np.float32)
    groups = RowGroups(table, sums)
    read, most = groups._groups, []

    def watched(some):
        rows = read(some)
        most.append((len(rows), len(groups._opened)))
        return rows

    monkeypatch.setattr(groups, "_groups", watched)
    wanted = np.random.default_rng(0).permutation(100)
    for part in (wanted, wanted[:3], wanted[-5:], wanted):
        np.testing.assert_array_equal(groups.read(part, DIM), values[part, :DIM])
    assert max(count for count, _ in most) <= 8
    assert 1 <= max(opened for _, opened in most) <= 8
    groups.close()
