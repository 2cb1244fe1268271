"""A DuckDB database."""

from __future__ import annotations

import errno
import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.export.format import ExportFormat, Names
from marius_lite.export.parquet import arrow_table
from marius_lite.log import log

if TYPE_CHECKING:
    from marius_lite.tasks.task import Blocks

DATABASE, MOST_MEMORY = "vectors.duckdb", "256MB"
FAILURES = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a disk may say, which DuckDB's errors have in their text."""


def write_duckdb(folder: Path, name: str, blocks: Blocks, rows: int, names: Names) -> None:
    """Write one table into the folder's database. Raises UserError where duckdb is not installed, OSError where the disk is full
    or fails."""
    try:
        import duckdb
    except ImportError:
        raise UserError("--format duckdb: needs duckdb, which is not installed: pip install 'marius-lite[sql]'") from None
    try:
        _write(folder / DATABASE, name, blocks, names)
    except duckdb.Error as error:  # of several classes, where the disk is the reason
        number = next((number for number in FAILURES if os.strerror(number) in str(error)), None)
        if number is None:
            raise
        raise OSError(number, os.strerror(number)) from error


def _write(database: Path, name: str, blocks: Blocks, names: Names) -> None:
    import duckdb

    with closing(duckdb.connect(str(database))) as connection:
        connection.execute(f"SET memory_limit = '{MOST_MEMORY}'")
        begun = False
        for ids, columns in blocks:
            table = _plain(arrow_table(ids, columns, names))
            connection.register("block", table)
            connection.execute(f'INSERT INTO "{name}" FROM block' if begun else f'CREATE TABLE "{name}" AS FROM block')
            connection.unregister("block")
            begun = True
        try:
            connection.execute(f'CREATE UNIQUE INDEX "{name}_raw_id" ON "{name}" (raw_id)')
        except duckdb.OutOfMemoryException:  # DuckDB holds a whole index in memory while it makes it
            log.warning("%s: no index of raw_id in %s: it takes more than %s of memory", DATABASE, name, MOST_MEMORY)


def _plain(table: pa.Table) -> pa.Table:
    """Return a table with text in place of dictionaries, which would become types of their own."""
    for at, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(at, field.name, table[at].cast(pa.string()))
    return table


FORMAT = ExportFormat(write_duckdb)
