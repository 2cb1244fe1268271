"""Batches of rows to a Parquet file, in bounded memory. Types that preprocess does not read become some that it does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from marius_lite.progress_bar import progress_bar
from marius_lite.storage.background import read_ahead


def write_parquet(batches: pa.RecordBatchReader, path: Path, group_bytes: int) -> int:
    """Write all rows, about ``group_bytes`` in a row group, with a checksum in each page. Returns their number."""
    schema = pa.schema([field.with_type(_plain(field.type)) for field in batches.schema], batches.schema.metadata)
    text = [field.name for field in schema if not _is_number(field.type)]
    rows = 0
    with (
        path.open("wb") as file,
        pq.ParquetWriter(file, schema, compression="lz4", use_dictionary=text, write_page_checksum=True) as writer,
        progress_bar(path.name, " rows") as bar,
    ):
        for group in read_ahead(_groups(batches, group_bytes)):
            columns = [_converted(column, field.type) for column, field in zip(group.columns, schema, strict=True)]
            writer.write_table(pa.table(columns, schema), row_group_size=max(1, len(group)))
            rows += len(group)
            bar.update(len(group))
    return rows


def _groups(batches: pa.RecordBatchReader, group_bytes: int) -> Iterator[pa.Table]:
    """Return the rows in tables of about ``group_bytes``: small batches are put together, large ones are cut."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        step = max(1, len(batch) * group_bytes // max(1, batch.nbytes))
        for first in range(0, len(batch), step):
            part = batch.slice(first, step)
            waiting.append(part)
            size += part.nbytes
            if size >= group_bytes:
                yield pa.Table.from_batches(waiting, batches.schema)
                waiting, size = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting, batches.schema)


def _is_number(type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_nested(type))


def _is_uuid(type: pa.DataType) -> bool:
    return isinstance(type, pa.BaseExtensionType) and type.extension_name == "arrow.uuid"


def _plain(type: pa.DataType) -> pa.DataType:
    """Return the type that a column is stored as: decimals as integers or floats, UUIDs as text, categories as their values."""
    if _is_uuid(type):
        return pa.string()
    if isinstance(type, pa.BaseExtensionType):
        return _plain(type.storage_type)
    if pa.types.is_dictionary(type):
        return _plain(type.value_type)
    if pa.types.is_decimal(type):
        return pa.float64() if type.scale else pa.int64()
    return pa.large_string() if pa.types.is_string_view(type) else type


def _converted(column: pa.ChunkedArray, type: pa.DataType) -> pa.ChunkedArray:
    if column.type == type:
        return column
    if _is_uuid(column.type):
        return pa.chunked_array([[None if each is None else str(_uuid(each)) for each in column.to_pylist()]], type)
    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    if pa.types.is_dictionary(column.type):
        return pa.chunked_array([pc.cast(chunk.dictionary, type).take(chunk.indices) for chunk in column.chunks], type)
    return pc.cast(column, type)


def _uuid(value: UUID | bytes) -> UUID:
    return value if isinstance(value, UUID) else UUID(bytes=value)
