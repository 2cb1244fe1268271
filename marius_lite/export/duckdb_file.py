"""A DuckDB database."""

from __future__ import annotations

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


def write_duckdb(folder: Path, name: str, blocks: Blocks, rows: int, names: Names) -> None:
    """Write one table into the folder's database. Raises UserError where duckdb is not installed."""
    try:
        import duckdb
    except ImportError:
        raise UserError("--format duckdb: needs duckdb, which is not installed: pip install 'marius-lite[sql]'") from None
    with closing(duckdb.connect(str(folder / DATABASE))) as connection:
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
