"""PostgreSQL, by its ADBC driver: the server's binary COPY, decoded into Arrow's record batches as it comes.

The driver is libpq: PGPASSWORD, ~/.pgpass, PGSERVICE, PGSSLMODE and the like hold, and so does a socket (``?host=/run/...``).
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.preprocess.databases.address import Address
from marius_lite.preprocess.databases.snapshot import Snapshot

BATCH_BYTES = "adbc.postgresql.batch_size_hint_bytes"


def open_postgresql(address: Address, block_bytes: int) -> Snapshot:
    """Connect, and begin a transaction that reads one snapshot. Raises UserError where the driver is not installed."""
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise UserError(
            f"--database {address.shown}: needs adbc-driver-postgresql, which is not installed: pip install 'marius-lite[sql]'"
        ) from None
    return _PostgreSql(dbapi.connect(address.uri), block_bytes)


class _PostgreSql:
    def __init__(self, connection: Any, block_bytes: int):
        self._connection, self._block_bytes = connection, block_bytes
        self._cursors: list[Any] = []
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    def close(self) -> None:
        """Leave the transaction. What a lost connection says to that is no news."""
        with suppress(Exception):
            for cursor in self._cursors:
                cursor.close()
            self._connection.close()

    def query(self, text: str) -> pa.RecordBatchReader:
        cursor = self._connection.cursor(adbc_stmt_kwargs={BATCH_BYTES: str(self._block_bytes)})
        self._cursors.append(cursor)
        cursor.execute(text)
        reader: pa.RecordBatchReader = cursor.fetch_record_batch()
        return reader
