"""Read files of queries row by row: text, standard input or Parquet."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import count
from pathlib import Path

import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.files import reading
from marius_lite.preprocess.readers.arrays import kind_of
from marius_lite.preprocess.readers.lines import BOM
from marius_lite.preprocess.readers.parquet_file import open_parquet

STDIN = Path("-")
LONGEST_LINE = 1 << 16
ROWS = 1 << 13
"""Rows of Parquet in memory at a time."""
ASKED = "?"

Row = tuple[str, list[str]]
"""(where it stands: a line from 1, or a row of Parquet from 0; its cells)."""


def told_name(path: Path) -> str:
    """Return the name of a file for messages."""
    return "standard input" if path == STDIN else str(path)


def query_rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of a file, ``-`` for standard input, some in memory at a time. Raises UserError where it cannot be read.

    Parquet, by its name's ending, has these ``columns``, or as many in their order; null becomes ``?``. Text has a row in each
    line: a single column is the whole line, several are parted by tabs, or else by commas, with quotes around a cell that has
    some. Cells keep the white space around them, for it may belong to an id, but for ``?``. Blank lines are no rows. How many
    cells a line has is not checked.
    """
    if path.suffix == ".parquet":
        yield from _parquet_rows(path, columns)
        return
    for place, line in _lines(path):
        yield place, _cells(line, f"{told_name(path)}, {place}") if len(columns) > 1 else [line]


def _cells(line: str, place: str) -> list[str]:
    return [ASKED if cell.strip() == ASKED else cell for cell in _split(line, place)]


def _split(line: str, place: str) -> list[str]:
    if "\t" in line or '"' not in line:
        return line.split("\t" if "\t" in line else ",")
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise UserError(f"{place}: found {line!r}: a quote does not close: double the quotes that belong to an id") from error


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (place, line) of the lines that are not blank."""
    name, number = told_name(path), 0
    with reading(name), nullcontext(sys.stdin.buffer) if path == STDIN else open(path, "rb") as file:
        while piece := file.readline(LONGEST_LINE):
            number += 1
            if len(piece) == LONGEST_LINE:
                raise UserError(
                    f"{name}, line {number}: longer than {LONGEST_LINE:,} bytes: give a text with one query in each line"
                )
            try:
                line = (piece if number > 1 else piece.removeprefix(BOM)).decode().rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise UserError(f"{name}, line {number}: cannot be read as text: {error}") from error
            if line.strip():
                yield f"line {number}", line


def _parquet_rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    number = count()
    with reading(path):
        path.stat()  # says in fewer words than Arrow that there is no such file
    with reading(path), open_parquet(path, pre_buffer=False) as file:
        names = _columns_of(path, file.schema_arrow, columns)
        for batch in file.iter_batches(ROWS, columns=names):
            table = (batch.column(name).to_pylist() for name in names)
            for row in zip(*table):
                yield f"row {next(number)}", [ASKED if cell is None else str(cell) for cell in row]


def _columns_of(path: Path, schema: pa.Schema, columns: Sequence[str]) -> list[str]:
    """Return the names of the columns to read."""
    names = list(columns) if set(columns) <= {*schema.names} else schema.names
    if len(names) != len(columns):
        raise UserError(f"{path}: columns {', '.join(names)[:120]}: give the columns {', '.join(columns)}")
    for name in names:
        kind = schema.field(name).type
        if not pa.types.is_null(kind) and kind_of(kind) is None:
            raise UserError(
                f"{path}: column {name!r} is of type {kind}: ids must be integers or strings, null where one is asked for"
            )
    return names
