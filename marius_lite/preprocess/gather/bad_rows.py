"""Rows that were left out, as a table beside the dataset: ``bad_rows.parquet``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from marius_lite.preprocess.readers.raw import BadRow

BAD_ROWS = "bad_rows.parquet"
SCHEMA = pa.schema([("file", pa.string()), ("line", pa.int64()), ("reason", pa.string()), ("content", pa.string())])
WITH_UNIT = SCHEMA.append(pa.field("unit", pa.string()))
"""The schema of a file that keeps all of a `BadRow`."""
ROWS_AT_ONCE = 1 << 14
MOST_SHARE = 0.01  # of the rows that may be bad without a warning


class BadRows:
    """Writes bad rows in the order they come. There is a file only if there are any.

    ``line``: the line of a text file, from 1, or the row of an array or table, from 0; null where the whole file is at fault.
    """

    def __init__(self, path: Path, schema: pa.Schema = SCHEMA):
        self._path, self._schema = path, schema
        self._waiting: list[BadRow] = []
        self._writer: pq.ParquetWriter | None = None

    def append(self, rows: list[BadRow]) -> None:
        self._waiting += rows
        while len(self._waiting) >= ROWS_AT_ONCE:  # the file does not depend on how many come at a time
            self._write()

    def close(self) -> None:
        """Finish the file."""
        if self._waiting:
            self._write()
        if self._writer is not None:
            self._writer.close()

    def _write(self) -> None:
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, self._schema, compression="zstd")
        written, self._waiting = self._waiting[:ROWS_AT_ONCE], self._waiting[ROWS_AT_ONCE:]
        columns = [[getattr(row, name) for row in written] for name in self._schema.names]
        self._writer.write_table(pa.table(columns, schema=self._schema))


def read_bad_rows(path: Path) -> Iterator[BadRow]:
    """Return the rows of a file that was written with the schema `WITH_UNIT`; none where there is no file."""
    if path.exists():
        with pq.ParquetFile(path) as opened:
            for batch in opened.iter_batches(ROWS_AT_ONCE):
                yield from (BadRow(**row) for row in batch.to_pylist())


def warning(skipped: int, rows: int) -> str | None:
    """Return a line where many of the ``rows`` were skipped; None where few were."""
    if skipped <= MOST_SHARE * rows:
        return None
    return f"{skipped:,} of {rows:,} rows ({100 * skipped / rows:.1f} %) are bad and were skipped: see {BAD_ROWS}"
