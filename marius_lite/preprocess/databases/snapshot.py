"""A database opened for reading. All queries see it as it was at one moment, and results come in batches of rows.

A kind of database is a function that opens one, and a line in `DATABASES`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import pyarrow as pa

from marius_lite.errors import MariusError, RunError, UserError
from marius_lite.places import at_place
from marius_lite.preprocess.databases.address import Address, hide_secrets, parse_address

HERE = "marius_lite.preprocess.databases"
DATABASES = {
    "sqlite": f"{HERE}.sqlite:open_sqlite",
    "duckdb": f"{HERE}.duckdb_file:open_duckdb",
    "postgresql": f"{HERE}.postgresql:open_postgresql",
}


class Snapshot(Protocol):
    """An open database in a transaction that only reads. Drivers raise errors of their own."""

    def query(self, text: str) -> pa.RecordBatchReader:
        """Begin a query. Its rows come as they are asked for, and are never all in memory."""
        ...

    def close(self) -> None: ...


def address_of(uri: str) -> Address:
    """Return the address of a database of a known kind. Raises UserError for others."""
    return parse_address(uri, tuple(DATABASES))


@contextmanager
def open_snapshot(address: Address, block_bytes: int) -> Iterator[Snapshot]:
    """Open a database. Batches of its rows have about ``block_bytes``. Raises UserError where that cannot be done."""
    try:
        snapshot: Snapshot = at_place(DATABASES[address.scheme])(address, block_bytes)
    except MariusError:
        raise
    except Exception as error:  # a driver's; its text and its chain may hold the password
        raise UserError(f"{address.shown}: cannot be opened: {address.redact(error)}") from None
    try:
        yield snapshot
    finally:
        snapshot.close()


def batches_of(snapshot: Snapshot, address: Address, text: str) -> pa.RecordBatchReader:
    """Return the result of a query. Raises UserError for a query that is wrong, RunError where the connection is lost later."""
    try:
        reader = snapshot.query(text)
    except MariusError:
        raise
    except Exception as error:
        raise UserError(f"{address.shown}: {hide_secrets(text)}: {address.redact(error)}") from None

    def rows() -> Iterator[pa.RecordBatch]:
        count = 0
        try:
            for batch in reader:
                yield batch
                count += len(batch)
        except MariusError:
            raise
        except Exception as error:
            raise RunError(
                f"{address.shown}: {hide_secrets(text)}: ended after {count:,} rows ({address.redact(error)}): nothing of it is "
                "kept, as what is there may have changed: the same command begins it anew"
            ) from None

    return pa.RecordBatchReader.from_batches(reader.schema, rows())


def require_file(address: Address) -> None:
    """Raise UserError where a database's file is not there."""
    if not address.path.is_file():
        raise UserError(f"{address.shown}: no such file: {address.path.absolute()}: name the file of a {address.scheme} database")
