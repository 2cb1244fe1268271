"""Parquet files, a row group for each block. A column of more than one number a row becomes lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from marius_lite.export.format import ExportFormat, Names

if TYPE_CHECKING:
    from marius_lite.tasks.task import Blocks


def arrow_table(ids: pa.Array, columns: Mapping[str, npt.NDArray[Any]], names: Names) -> pa.Table:
    """Return a block as a table: raw_id, then the columns, wide lists last."""
    ordered = [*list(columns)[1:], *list(columns)[:1]]
    return pa.table({"raw_id": ids, **{key: _arrow(columns[key], names.get(key)) for key in ordered}})


def open_writer(path: Path, schema: pa.Schema, names: Names) -> pq.ParquetWriter:
    """Return a writer of tables with this schema. Vectors cannot be compressed: it would only cost time."""
    dictionaries = [*names, *(f"{key}.list.element" for key in names)]
    return pq.ParquetWriter(path, schema, compression="none", use_dictionary=dictionaries or False)


def write_parquet(folder: Path, name: str, blocks: Blocks, rows: int, names: Names) -> None:
    """Write one file."""
    writer = None
    try:
        for ids, columns in blocks:
            table = arrow_table(ids, columns, names)
            writer = writer or open_writer(folder / f"{name}.parquet", table.schema, names)
            writer.write_table(table, row_group_size=len(ids))
    finally:
        if writer:
            writer.close()


def _arrow(values: npt.NDArray[Any], names: Sequence[str] | None) -> pa.Array:
    if values.dtype == bool:
        return _lists(values, names)
    if values.ndim == 2:
        return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])
    if names is not None:
        return pa.DictionaryArray.from_arrays(pa.array(values.astype(np.int32)), pa.array(list(names), pa.string()))
    return pa.array(values)


def _lists(values: npt.NDArray[np.bool_], names: Sequence[str] | None) -> pa.Array:
    """Return for each row of truth values the numbers or names of the columns that are true."""
    rows, columns = np.nonzero(values)
    offsets = np.searchsorted(rows, np.arange(len(values) + 1)).astype(np.int32)
    items = pa.array(columns.astype(np.int64))
    return pa.ListArray.from_arrays(pa.array(offsets), items if names is None else pa.array(list(names), pa.string()).take(items))


FORMAT = ExportFormat(write_parquet)
