"""Tables of rows: what zarr sees, and random rows of a partition."""

import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marius_lite.errors import RunError, UserError
from marius_lite.storage.table import SPAN_BYTES, RowTable, spans


def filled(path, nodes, width, rows):
    table = RowTable.create(path, nodes, width, rows)
    values = np.random.default_rng(0).standard_normal((nodes, width)).astype(np.float32)
    zarr.open_array(path)[:] = values
    return table, values


def test_a_new_table_is_zeros_whole_and_takes_no_space(tmp_path):
    table = RowTable.create(tmp_path / "t", 100_001, 8, 25_000, {"names": ["a"]})
    assert table.partitions == 5
    assert [table.size(k) for k in range(5)] == [25_000] * 4 + [1]
    assert all(table.chunk_path(k).stat().st_size == table.chunk_bytes for k in range(5))
    assert sum(table.chunk_path(k).stat().st_blocks for k in range(5)) == 0
    assert not zarr.open_array(tmp_path / "t")[:].any()
    assert RowTable.open(tmp_path / "t") == table
    assert table.attributes == {"names": ["a"]}


@pytest.mark.parametrize("most", [1, 7 * 32, 1 << 20])
def test_blocks_of_nodes_end_with_the_last_node(tmp_path, most):
    table, values = filled(tmp_path / "t", 45, 8, 20)
    for k in range(table.partitions):
        blocks = list(table.node_blocks(k, most))
        assert np.array_equal(np.concatenate([rows for _, rows in blocks]), values[k * 20 : (k + 1) * 20])
        assert all(np.array_equal(rows, values[k * 20 + first :][: len(rows)]) for first, rows in blocks)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_rows_of_a_partition_in_any_order(tmp_path_factory, data):
    rows = data.draw(st.integers(1, 400), label="rows")
    nodes = data.draw(st.integers(1, 3 * rows), label="nodes")
    width = 4 * data.draw(st.integers(1, 26), label="width / 4")
    table, values = filled(tmp_path_factory.mktemp("table") / "t", nodes, width, rows)
    k = data.draw(st.integers(0, table.partitions - 1), label="partition")
    offsets = data.draw(st.lists(st.integers(0, table.size(k) - 1), max_size=50), label="offsets")
    first, last = data.draw(st.integers(0, width)), data.draw(st.integers(0, width))
    found = table.read_rows(k, offsets, slice(first, last))
    assert np.array_equal(found, values[k * rows + np.asarray(offsets, np.int64)][:, first:last])


@given(st.lists(st.integers(0, 10**7), unique=True).map(sorted), st.integers(1, 64).map(lambda n: 16 * n))
def test_spans_cover_each_offset_once_and_stay_short(offsets, stride):
    offsets = np.asarray(offsets, np.int64)
    found = spans(offsets, stride)
    assert [i for first, last in found for i in range(first, last)] == list(range(len(offsets)))
    for first, last in found:
        assert (offsets[last - 1] - offsets[first]) * stride < SPAN_BYTES


def test_rows_outside_and_damaged_files_are_named(tmp_path):
    table, _ = filled(tmp_path / "t", 25, 4, 10)
    for offset in (-1, 5):
        with pytest.raises(ValueError, match=f"row {offset} is not in partition 2 of 5 rows"):
            table.read_rows(2, [0, offset])
    assert table.read_rows(2, []).shape == (0, 4)
    table.chunk_path(1).write_bytes(bytes(20))
    with pytest.raises(RunError, match=r"c/1/0: the file holds 20 bytes"):
        table.read_rows(1, [9])


def test_rows_of_half_precision(tmp_path):
    table = RowTable.create(tmp_path / "t", 10, 8, 4, dtype=np.float16)
    values = np.arange(80, dtype=np.float16).reshape(10, 8)
    zarr.open_array(tmp_path / "t")[:] = values
    assert RowTable.open(tmp_path / "t") == table
    assert table.stride == 16
    assert np.array_equal(table.read_rows(1, [3, 0], slice(0, 3)), values[[7, 4], :3])
    with pytest.raises(ValueError, match="a multiple of 8"):
        RowTable.create(tmp_path / "never", 10, 4, 4, dtype=np.float16)


def test_what_cannot_be_paged_is_refused(tmp_path):
    with pytest.raises(UserError, match="no Zarr array"):
        RowTable.open(tmp_path / "absent")
    for name, options in {
        "compressed": {},
        "doubles": {"compressors": None, "dtype": "float64"},
        "split": {"compressors": None, "chunks": (5, 4)},
        "odd": {"compressors": None, "shape": (10, 6), "chunks": (5, 6)},
    }.items():
        defaults = {"shape": (10, 8), "chunks": (5, 8), "dtype": "float32"}
        zarr.create_array(store=tmp_path / name, **(defaults | options))
        with pytest.raises(UserError, match=f"{name}: found shape"):
            RowTable.open(tmp_path / name)
    for nodes, width, rows in [(0, 4, 1), (1, 6, 1), (1, 4, 0)]:
        with pytest.raises(ValueError, match="must be positive"):
            RowTable.create(tmp_path / "never", nodes, width, rows)
