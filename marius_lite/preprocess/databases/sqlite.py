"""SQLite, by Python's own module. A value has a type there, not a column: a column takes the type of its first value."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.preprocess.databases.address import Address
from marius_lite.preprocess.databases.snapshot import Snapshot, require_file

ROW_BYTES = 128  # of a row in memory, about: its values are Python's objects
NOTHING = type(None)
TYPES = {int: pa.int64(), float: pa.float64(), str: pa.string(), NOTHING: pa.string()}
FITTING: dict[pa.DataType, set[type]] = {
    pa.int64(): {int, NOTHING},
    pa.float64(): {float, int, NOTHING},
    pa.string(): {str, NOTHING},
}


def open_sqlite(address: Address, block_bytes: int) -> Snapshot:
    """Open a file, which is never written."""
    require_file(address)
    return _Sqlite(address, max(1 << 10, block_bytes // ROW_BYTES))


class _Sqlite:
    def __init__(self, address: Address, rows: int):
        self._address, self._rows = address, rows
        where = f"file:{quote(str(address.path.absolute()))}?mode=ro"
        self._connection = sqlite3.connect(where, uri=True, isolation_level=None, check_same_thread=False)
        self._connection.execute("BEGIN")
        self._connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()  # from here on it does not change

    def close(self) -> None:
        self._connection.close()

    def query(self, text: str) -> pa.RecordBatchReader:
        cursor = self._connection.execute(text)
        names = [column[0] for column in cursor.description or ()]
        first = cursor.fetchmany(self._rows)
        schema = pa.schema([(name, self._type(text, at, first)) for at, name in enumerate(names)])
        return pa.RecordBatchReader.from_batches(schema, self._batches(cursor, first, schema))

    def _type(self, text: str, at: int, rows: Sequence[Sequence[Any]]) -> pa.DataType:
        """Return the type of a column by its first value. Where the first rows have none, the database looks for it."""
        value = next((row[at] for row in rows if row[at] is not None), None)
        if value is None and len(rows) == self._rows:
            named = f"({', '.join(f'c{place}' for place in range(len(rows[0])))})"
            asked = f"WITH asked{named} AS ({text.rstrip().rstrip(';')}) SELECT c{at} FROM asked WHERE c{at} IS NOT NULL LIMIT 1"
            value = next((row[0] for row in self._connection.execute(asked)), None)
        if type(value) not in TYPES:
            raise UserError(f"{self._address.shown}: column {at + 1} of the query holds bytes: write hex(...) for them")
        return TYPES[type(value)]

    def _batches(self, cursor: sqlite3.Cursor, rows: list[Any], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        first = 0
        while rows:
            columns = zip(*rows, strict=True)
            yield pa.record_batch([self._column(*each, first) for each in zip(columns, schema, strict=True)], schema)
            first += len(rows)
            rows = cursor.fetchmany(self._rows)

    def _column(self, values: Sequence[Any], field: pa.Field, first: int) -> pa.Array:
        right = FITTING[field.type]
        if not set(map(type, values)) <= right:  # Arrow would cut 0.5 to 0
            at = next(place for place, value in enumerate(values) if type(value) not in right)
            raise UserError(
                f"{self._address.shown}: row {first + at}, column {field.name!r}: {values[at]!r:.80} among values of type "
                f"{field.type}: give the column one type in the query, for example CAST({field.name} AS TEXT)"
            )
        return pa.array(values, field.type)
