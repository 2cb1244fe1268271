"""Rows of numbers of a text file: a table with a line for each node, with or without titles and ids."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from marius_lite.errors import UserError
from marius_lite.files import reading
from marius_lite.graph.ids import IdKind
from marius_lite.log import log
from marius_lite.preprocess.readers.arrays import checked_ids
from marius_lite.preprocess.readers.column_rows import ColumnRows, rows_of
from marius_lite.preprocess.readers.roles import NODE_IDS
from marius_lite.preprocess.readers.source import ByteStream
from marius_lite.sizes import is_number

DELIMITERS = "\t;|, "
NAMED = {"\t": "tab", " ": "space"}
BLOCK = 4 << 20
"""Bytes that are parsed at a time. A line is shorter."""
ADVICE = "write a line of numbers for each node, perhaps with its id first, and with titles above"
Rows = npt.NDArray[Any]


class DelimitedRows(ColumnRows):
    """Lines of numbers. Columns are delimited by the first of tab, semicolon, |, comma and space that the first line has.

    The first line is titles where a field of it is no number, but for one in the first column where the second line has none
    there either. A column titled as ids are, or the first where the first two lines have no number there, says whose rows they
    are: ``ids``. Rows are counted from 0, without the titles. Raises UserError for what is no such table.
    """

    dtype = np.dtype(np.float32)

    def __init__(self, path: Path):
        super().__init__(path)
        with closing(_Opened(path)) as file:
            lines = [line for line in file.lines(BLOCK) if line.strip()][:2]
        if not lines:
            raise UserError(f"{path}: empty text: {ADVICE}")
        self._delimiter = next((mark for mark in DELIMITERS if mark in lines[0]), ",")
        fields = [next(csv.reader([line], delimiter=self._delimiter)) for line in lines]
        self._titled = not all(map(_is_number, fields[0][1:])) or (
            len(fields) > 1 and not _is_number(fields[0][0]) and _is_number(fields[1][0])
        )
        self._names = fields[0] if self._titled else [f"column {k}" for k in range(len(fields[0]))]
        self._id = self._id_column(fields)
        self._numbers = [name for name in self._names if name != self._id]
        self.width = len(self._numbers)
        if not self.width or len(set(self._names)) < len(self._names):
            raise UserError(f"{path}: columns {', '.join(map(repr, self._names))[:200]}: {ADVICE}; no two titles are alike")
        self.ids = None if self._id is None else IdsBeside(self)
        self.rows = sum(len(batch) for batch in self.batches(self._numbers[:1], pa.string()))
        if not self.rows:
            raise UserError(f"{path}: titles and no rows: {ADVICE}")
        log.info(
            f"{path}: read as text, delimiter {NAMED.get(self._delimiter, repr(self._delimiter))}, "
            f"{'with' if self._titled else 'without'} a header, {self.rows:,} rows of {self.width:,} numbers, "
            + ("row i for the integer id i" if self._id is None else f"ids in column {self._id!r}")
        )

    def _id_column(self, fields: list[list[str]]) -> str | None:
        titles = [name for name in self._names if name.lower() in NODE_IDS] if self._titled else []
        if len(titles) == 1:
            return titles[0]
        below = fields[1:] if self._titled else fields
        return self._names[0] if below and not any(_is_number(line[0]) for line in below if line) else None

    @property
    def id_column(self) -> str:
        """The title of the column of ids."""
        assert self._id is not None
        return self._id

    def blocks(self, rows: int) -> Iterator[tuple[int, Rows]]:
        first = 0
        for batch in self.batches(self._numbers, pa.float32()):
            for begin in range(0, len(batch), rows):
                part = batch.slice(begin, rows)
                yield first, rows_of(part, self.dtype, self.path, first, "empty, or said to be missing")
                first += len(part)

    def batches(self, names: list[str], type: pa.DataType) -> Iterator[pa.RecordBatch]:
        """Parse the columns ``names`` as ``type``. Raises UserError for a line of another length and for what is no ``type``."""
        read = pacsv.ReadOptions(
            use_threads=False, block_size=BLOCK, column_names=self._names, skip_rows_after_names=int(self._titled)
        )
        convert = pacsv.ConvertOptions(include_columns=names, column_types=dict.fromkeys(names, type), strings_can_be_null=False)
        parse = pacsv.ParseOptions(delimiter=self._delimiter)
        with reading(self.path), closing(_Opened(self.path)) as file:
            try:
                yield from pacsv.open_csv(pa.PythonFile(file, "r"), read, parse, convert)
            except (pa.ArrowInvalid, pa.ArrowKeyError, UnicodeDecodeError) as error:
                raise UserError(f"{self.path}: {str(error)[:300]}: {ADVICE}") from error


class IdsBeside:
    """The column of a table of text that says whose rows they are. See `node_ids.IdList`."""

    def __init__(self, table: DelimitedRows):
        self._table, self.path = table, table.path

    @property
    def size(self) -> int:
        return self._table.size

    @property
    def checksum(self) -> int:
        return self._table.checksum

    def place(self, at: int) -> str:
        return f"{self.path}: row {at}"

    def read(self, kind: IdKind, block_bytes: int) -> Iterator[pa.Array]:
        first = 0
        for batch in self._table.batches([self._table.id_column], pa.string()):
            ids = batch.column(0)
            if kind == "int":
                ids = pc.utf8_trim_whitespace(ids)
                plain = pc.match_substring_regex(ids, "^[0-9]{1,18}$")
                if not pc.all(plain).as_py():
                    row = int(np.asarray(plain).argmin())
                    raise UserError(
                        f"{self.place(first + row)}: {ids[row].as_py()[:200]!r} is no integer from 0 to 10^18, as the ids of "
                        "the edges are: correct it, or keep ids as text with --ids str"
                    )
                ids = ids.cast(pa.int64())
            yield checked_ids(str(self.path), first, ids, kind)
            first += len(ids)


class _Opened(io.RawIOBase):
    """The decompressed bytes of a file, as pyarrow reads them, without a byte order mark."""

    def __init__(self, path: Path):
        self._path, self._stream = path, ByteStream(path)
        head = self._stream.read(BLOCK)
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise UserError(f"{path}: UTF-16 text, not UTF-8: convert it, for example with iconv -f utf-16 -t utf-8")
        self._ahead = head.removeprefix(b"\xef\xbb\xbf")

    def lines(self, most: int) -> list[str]:
        """Return the lines of the first ``most`` bytes, the last perhaps cut. Raises UserError for what is no text."""
        try:
            return self._ahead[:most].decode(errors="strict" if len(self._ahead) < most else "ignore").splitlines()
        except UnicodeDecodeError as error:
            raise UserError(f"{self._path}: not UTF-8 text: {ADVICE}") from error

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        wanted = BLOCK if size is None or size < 0 else size
        if self._ahead:
            part, self._ahead = self._ahead[:wanted], self._ahead[wanted:]
            return part
        return self._stream.read(wanted)

    def close(self) -> None:
        self._stream.close()
        super().close()


def _is_number(text: str) -> bool:
    """Whether a field is a number, or an empty place for one."""
    return not text.strip() or is_number(text)
