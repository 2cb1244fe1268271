"""DuckDB, by its own streams of Arrow's record batches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.preprocess.databases.address import Address
from marius_lite.preprocess.databases.snapshot import Snapshot, require_file

ROW_BYTES, MOST_ROWS = 16, 1 << 20
BLOCKS = 16  # of rows, what the database may take beside its result


def open_duckdb(address: Address, block_bytes: int) -> Snapshot:
    """Open a file, which is never written. Raises UserError where duckdb is not installed."""
    try:
        import duckdb
    except ImportError:
        raise UserError(
            f"--database {address.shown}: needs duckdb, which is not installed: pip install 'marius-lite[sql]'"
        ) from None
    require_file(address)
    connection = duckdb.connect(str(address.path), read_only=True)
    connection.execute(f"SET memory_limit = '{max(64 << 20, BLOCKS * block_bytes) >> 20}MiB'")
    connection.execute("BEGIN TRANSACTION")
    return _DuckDb(connection, min(MOST_ROWS, max(1 << 12, block_bytes // ROW_BYTES)))


class _DuckDb:
    def __init__(self, connection: Any, rows: int):
        self._connection, self._rows = connection, rows

    def close(self) -> None:
        self._connection.close()

    def query(self, text: str) -> pa.RecordBatchReader:
        result = self._connection.sql(text)
        read = getattr(result, "to_arrow_reader", None) or result.fetch_arrow_reader  # its name in older versions
        reader: pa.RecordBatchReader = read(self._rows)
        return reader
