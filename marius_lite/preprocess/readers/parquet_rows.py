"""Rows of numbers of a Parquet file: a number in each column, or one column of lists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from marius_lite.errors import UserError
from marius_lite.files import parse_json, reading
from marius_lite.preprocess.readers.column_rows import ColumnRows, rows_of
from marius_lite.preprocess.readers.node_ids import IdColumn
from marius_lite.preprocess.readers.parquet_file import open_parquet
from marius_lite.preprocess.readers.roles import NODE_IDS, require_distinct

ADVICE = "write columns of numbers and no others, or one column of lists of equal length"
IDS = tuple(name for name in NODE_IDS if name.endswith("id"))  # these say whose row it is; others only look like it
LEAST_BUFFER, BUFFERS = 1 << 12, 4 << 20  # bytes, of one column and of all of them
Rows = npt.NDArray[Any]


def _is_list(type: pa.DataType) -> bool:
    return bool(pa.types.is_list(type) or pa.types.is_large_list(type) or pa.types.is_fixed_size_list(type))


def _index(schema: pa.Schema) -> list[str]:
    """Return the columns that pandas wrote as the index of rows."""
    try:
        written = parse_json((schema.metadata or {}).get(b"pandas", b"{}"))
        return [name for name in written["index_columns"] if isinstance(name, str)]
    except (ValueError, KeyError, TypeError):  # pandas did not write the file
        return []


def only_list(path: Path) -> bool:
    """Whether the file's only column is one of lists."""
    with reading(path), open_parquet(path) as opened:
        types = opened.schema_arrow.types
    return len(types) == 1 and _is_list(types[0])


class ParquetRows(ColumnRows):
    """All columns of the file, in their order. Rows are decoded in batches. Beside these, a page of each column is in memory.

    ``ids``: the column that says whose rows they are, where one has such a name.
    """

    ids: IdColumn | None = None

    def __init__(self, path: Path):
        super().__init__(path)
        self._buffer_bytes = LEAST_BUFFER
        with reading(path), self._open() as opened:
            schema, self.rows = opened.schema_arrow, int(opened.metadata.num_rows)
        require_distinct(path, schema.names, schema.names)
        self._names = schema.names
        if len(ids := [name for name in schema.names if name.lower() in IDS]) == 1 and len(schema) > 1:
            self.ids = IdColumn(path, ids[0])
            schema = schema.remove(schema.get_field_index(ids[0]))
            self._names = schema.names
        types = [field.type for field in schema]
        self._lists = len(types) == 1 and _is_list(types[0])
        for field in schema:
            value = field.type.value_type if self._lists else field.type
            if not (pa.types.is_integer(value) or pa.types.is_floating(value) or pa.types.is_boolean(value)):
                raise UserError(f"{path}: column {field.name!r} is of type {field.type}: {ADVICE}")
        if ids := [name for name in schema.names if name.lower() in NODE_IDS or name in _index(schema)]:
            raise UserError(
                f"{path}: column {ids[0]!r} looks like ids of nodes, not like a feature: leave it out, and give the "
                "id of each row with --node-ids, if row i is not about node i, or call its column id"
            )
        if not self.rows or not types:
            raise UserError(f"{path}: {self.rows} rows, {len(types)} columns: {ADVICE}")
        values = [types[0].value_type] if self._lists else types
        self.dtype = np.result_type(*(np.dtype(value.to_pandas_dtype()) for value in values))
        self.width = self._list_length() if self._lists else len(types)
        self._buffer_bytes = max(LEAST_BUFFER, BUFFERS // len(types))

    def _open(self) -> pq.ParquetFile:
        return open_parquet(self.path, buffer_size=self._buffer_bytes, pre_buffer=False)

    def _list_length(self) -> int:
        with reading(self.path), self._open() as opened:
            first = next(opened.iter_batches(1, columns=self._names)).column(0)[0].as_py()
        if not first:
            raise UserError(f"{self.path}: row 0: a list without numbers: {ADVICE}")
        return len(first)

    def blocks(self, rows: int) -> Iterator[tuple[int, Rows]]:
        first = 0
        with reading(self.path), self._open() as opened:
            for batch in opened.iter_batches(rows, columns=self._names, use_threads=False):
                if self._lists:
                    yield first, self._list_rows(batch.column(0), first)
                else:
                    yield first, rows_of(batch, self.dtype, self.path, first, "null")
                first += len(batch)

    def _list_rows(self, column: pa.Array, first: int) -> Rows:
        lengths = np.where(np.asarray(column.is_valid()), np.asarray(pc.list_value_length(column).fill_null(0)), 0)
        values = column.flatten()
        if (wrong := lengths != self.width).any():
            row = int(wrong.argmax())
            raise UserError(f"{self.path}: row {first + row}: {lengths[row]} numbers, row 0 has {self.width}: {ADVICE}")
        if values.null_count:
            row = int(np.asarray(values.is_null()).argmax()) // self.width
            raise UserError(f"{self.path}: row {first + row}: null in its list: every value must be a number: replace it")
        block: Rows = np.array(values.to_numpy(zero_copy_only=False), self.dtype).reshape(-1, self.width)
        return block
