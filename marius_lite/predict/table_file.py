"""Write tables as one file, tab- or comma-separated text or Parquet by its name's ending, which is whole or not there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from marius_lite.errors import UserError
from marius_lite.files import require_folder_of
from marius_lite.temporary import whole

LINES = 1 << 14
"""Lines of text in memory at a time."""


class DelimitedLines:
    """Writes a table's rows as lines. A cell with the delimiter, a quote or a line end stands in quotes; null is ``?``."""

    def __init__(self, file: IO[bytes], schema: pa.Schema, delimiter: str):
        self._file, self._delimiter = file, delimiter
        self.write_table(pa.table({name: [name] for name in schema.names}))

    def write_table(self, table: pa.Table) -> None:
        for batch in table.to_batches(LINES):
            cells = (self._quoted(_as_text(column)) for column in batch.columns)
            lines = pc.binary_join_element_wise(*cells, self._delimiter, null_handling="replace", null_replacement="?")
            self._file.write("".join(f"{line}\n" for line in lines.to_pylist()).encode())

    def _quoted(self, cells: pa.Array) -> pa.Array:
        special = pc.match_substring_regex(cells, f'["\r\n{self._delimiter}]')
        if not pc.any(special).as_py():
            return cells
        quoted = pc.binary_join_element_wise('"', pc.replace_substring(cells, '"', '""'), '"', "")
        return pc.if_else(special, quoted, cells)

    def close(self) -> None:
        pass


def _as_text(column: pa.Array) -> pa.Array:
    """Return cells as text. The items of a list are parted by commas."""
    if pa.types.is_list(column.type):
        return pc.binary_join(column.cast(pa.list_(pa.string())), ",")
    return column.cast(pa.string())


WRITERS: dict[str, Callable[[IO[bytes], pa.Schema], Any]] = {
    ".tsv": partial(DelimitedLines, delimiter="\t"),
    ".csv": partial(DelimitedLines, delimiter=","),
    ".parquet": partial(pq.ParquetWriter, compression="zstd"),
}


def check_table_file(output: Path) -> None:
    """Raise UserError for a file of no known kind by its name, and for one that has no folder to be in."""
    if output.suffix not in WRITERS:
        raise UserError(f"--output {output}: the name's ending says how it is written: use one of {', '.join(WRITERS)}")
    if output.is_dir():
        raise UserError(f"--output {output}: is a folder: name a file")
    require_folder_of(output, "--output")


def write_tables(tables: Iterable[pa.Table], output: Path) -> int:
    """Write ``tables`` of one schema to the file ``output``, which appears when it is whole. Returns its rows.

    Raises UserError as `check_table_file` does and where there is none, RunError where the disk fails. A file that was there is
    then still there.
    """
    check_table_file(output)
    rows, left = 0, iter(tables)
    if (first := next(left, None)) is None:
        raise UserError(f"--output {output}: there is nothing to write")
    with whole(output) as file, closing(WRITERS[output.suffix](file, first.schema)) as writer:
        for table in chain([first], left):
            writer.write_table(table)
            rows += len(table)
    return rows
