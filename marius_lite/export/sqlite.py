"""A SQLite database. It has no lists: vectors are blobs of float32, as its extensions read them; lists of names are JSON."""

from __future__ import annotations

import errno
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from marius_lite.export.format import ExportFormat, Names
from marius_lite.export.parquet import arrow_table

if TYPE_CHECKING:
    from marius_lite.tasks.task import Blocks

DATABASE = "vectors.db"
PRIMARY = 0xFF
"""What of an error's code says of which kind it is."""


def write_sqlite(folder: Path, name: str, blocks: Blocks, rows: int, names: Names) -> None:
    """Write one table into the folder's database. Raises OSError where the disk is full or fails."""
    try:
        _write(folder / DATABASE, name, blocks, names)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & PRIMARY not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
            raise
        number = errno.ENOSPC if error.sqlite_errorcode == sqlite3.SQLITE_FULL else errno.EIO  # it does not say more
        raise OSError(number, str(error)) from error


def _write(database: Path, name: str, blocks: Blocks, names: Names) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        for pragma in ("journal_mode = OFF", "synchronous = OFF"):  # the folder is synced and renamed as a whole
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN")
        begun = False
        for ids, columns in blocks:
            table = arrow_table(ids, columns, names)
            if not begun:
                kinds = ", ".join(f'"{field.name}" {_kind(field.type)}' for field in table.schema)
                connection.execute(f'CREATE TABLE "{name}" ({kinds})')
                begun = True
            values = [_values(table[key].combine_chunks(), columns.get(key)) for key in table.column_names]
            connection.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(values))})', zip(*values, strict=True))
        connection.execute(f'CREATE UNIQUE INDEX "{name}_raw_id" ON "{name}" (raw_id)')
        connection.execute("COMMIT")


def _kind(type: pa.DataType) -> str:
    if pa.types.is_integer(type):
        return "INTEGER"
    if pa.types.is_floating(type):
        return "REAL"
    return "BLOB" if pa.types.is_fixed_size_list(type) else "TEXT"


def _values(column: pa.Array, rows: npt.NDArray[Any] | None) -> Iterator[Any]:
    """Return the values of a column for SQLite."""
    if pa.types.is_fixed_size_list(column.type) and rows is not None:
        return (row.tobytes() for row in np.ascontiguousarray(rows, rows.dtype.newbyteorder("<")))
    if pa.types.is_list(column.type):
        return (json.dumps(each) for each in column.to_pylist())
    return iter(column.to_pylist())


FORMAT = ExportFormat(write_sqlite)
