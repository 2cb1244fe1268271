"""Batches of any size become row groups of bounded size, with all rows in order; types that are not read become some that are."""

from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.preprocess.inputs.parquet import write_parquet

GROUP = 1 << 12


def stored(tmp_path, table, batch=1000):
    reader = pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(batch)))
    assert write_parquet(reader, tmp_path / "t", GROUP) == len(table)
    return pq.ParquetFile(tmp_path / "t")


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 3000), st.integers(1, 4000))
def test_rows_and_groups(tmp_path_factory, rows, batch):
    table = pa.table({"a": pa.array(range(rows), pa.int64()), "b": pa.array([f"n{i}" for i in range(rows)], pa.string())})
    found = stored(tmp_path_factory.mktemp("rows"), table, batch)
    assert found.read().to_pydict() == table.to_pydict()
    sizes = [found.metadata.row_group(place).num_rows for place in range(found.num_row_groups)]
    assert sum(sizes) == rows
    assert len(sizes) <= 2 + table.nbytes // (GROUP // 2)  # small batches are put together
    assert all(size * table.nbytes // max(1, rows) <= 3 * GROUP for size in sizes)  # and large ones cut


@pytest.mark.parametrize(
    ("column", "becomes"),
    [
        (pa.array([Decimal(7), None], pa.decimal128(38, 0)), [7, None]),
        (pa.array([Decimal("0.50"), None], pa.decimal128(10, 2)), [0.5, None]),
        (pa.array(["a", None, "b", "a"]).dictionary_encode(), ["a", None, "b", "a"]),
        (pa.array([UUID(int=5).bytes, None], pa.uuid()), [str(UUID(int=5)), None]),
        (pa.array(["a", None], pa.string_view()), ["a", None]),
        (pa.ExtensionArray.from_storage(pa.opaque(pa.string(), "numeric", "PostgreSQL"), pa.array(["1.5"])), ["1.5"]),
        (pa.array([[1.0, 2.0]], pa.list_(pa.float32())), [[1.0, 2.0]]),
    ],
)
def test_types(tmp_path, column, becomes):
    assert stored(tmp_path, pa.table({"c": column})).read()["c"].to_pylist() == becomes
