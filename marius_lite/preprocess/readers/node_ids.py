"""Lists of raw ids: a text file of one id a line, a .npy array of integers, or a column of a Parquet file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from marius_lite.errors import UserError
from marius_lite.files import reading
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.readers.array_file import ArrayFile, OfArray
from marius_lite.preprocess.readers.arrays import checked_ids, kind_of
from marius_lite.preprocess.readers.lines import whole_lines
from marius_lite.preprocess.readers.parquet_file import open_parquet
from marius_lite.preprocess.readers.shape import integer_of
from marius_lite.preprocess.readers.source import ByteStream, checksum_of, locate, magic_of
from marius_lite.preprocess.readers.text import id_fault

LARGEST_ID = 2**63 - 1
ID_BYTES = 64  # of a decoded id, about
ADVICE = "save a one-dimensional array of integer ids with numpy.save, or write text with one id a line"


class IdList(Protocol):
    """An opened list of raw ids. ``checksum``: the crc32c of the file's bytes, known when `read` has ended."""

    @property
    def path(self) -> Path: ...

    @property
    def size(self) -> int:
        """Bytes of the file."""
        ...

    @property
    def checksum(self) -> int: ...

    def read(self, kind: IdKind, block_bytes: int) -> Iterator[pa.Array]:
        """Read the ids in their order, int64 or string, in blocks. Raises UserError at the first that is no such id."""
        ...

    def place(self, at: int) -> str:
        """Return where id ``at`` stands, for messages."""
        ...


def open_ids(file: Path) -> IdList:
    """Open a list of ids: text, Parquet, FILE.npy, or FILE.npz:KEY. Raises UserError for what cannot be one."""
    magic = magic_of(locate(file)[0])
    if magic == "parquet":
        return IdColumn(file)
    return IdArray(ArrayFile(file, ADVICE)) if magic in ("npy", "zip") else NodeIdFile(file)


class IdColumn:
    """A column of a Parquet file, integers or strings: the one that is named, else the only one. Ids are not null.

    ``checksum``: the crc32c of the file's bytes, known when `read` has ended.
    """

    def __init__(self, path: Path, name: str | None = None):
        self.path, self.checksum = path, 0
        with reading(path), open_parquet(path) as opened:
            schema = opened.schema_arrow
        if name is None and len(schema) != 1:
            raise UserError(f"{path}: columns {', '.join(schema.names)[:120]}: {ADVICE}, or a Parquet file of one column")
        self._name = schema.names[0] if name is None else name
        if kind_of(type := schema.field(self._name).type) is None:
            raise UserError(f"{path}: column {self._name!r} is of type {type}: ids must be integers or strings")

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    def place(self, at: int) -> str:
        return f"{self.path}: row {at}"

    def read(self, kind: IdKind, block_bytes: int) -> Iterator[pa.Array]:
        self.checksum = checksum_of(self.path, lambda _: None)
        first = 0
        with reading(self.path), open_parquet(self.path, buffer_size=1 << 20, pre_buffer=False) as opened:
            for batch in opened.iter_batches(max(1 << 10, block_bytes // ID_BYTES), columns=[self._name]):
                yield checked_ids(str(self.path), first, batch.column(0), kind)
                first += len(batch)


class IdArray(OfArray):
    """A one-dimensional array of integers. Where ids are text, they become decimal numbers in text."""

    def __init__(self, array: ArrayFile):
        super().__init__(array)
        if array.dtype.kind not in "iu" or len(array.shape) != 1:
            raise UserError(f"{self.name}: an array of {array.dtype}, shape {array.shape}: {ADVICE}")

    def place(self, at: int) -> str:
        return f"{self.name}: row {at}"

    def read(self, kind: IdKind, block_bytes: int) -> Iterator[pa.Array]:
        for first, block in self._array.blocks(max(1, block_bytes // 8)):
            wrong = (block < 0) | (block > LARGEST_ID)
            if wrong.any():
                row = int(wrong.argmax())
                raise UserError(f"{self.place(first + row)}: {block[row]} is no id: integer ids are 0 to 2^63 - 1")
            ids = pa.array(block.astype(np.int64))
            yield ids if kind == "int" else ids.cast(pa.string())


class NodeIdFile:
    """UTF-8 text, perhaps compressed. The whole line is an id: there are no comments, quotes or delimiters.

    ``checksum``: the crc32c of the file's bytes, known when `read` has ended.
    """

    def __init__(self, path: Path):
        self.path = path
        self.checksum = 0

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    def place(self, at: int) -> str:
        return f"{self.path}:{at + 1}"

    def read(self, kind: IdKind, block_bytes: int) -> Iterator[pa.Array]:
        """Read the ids in their order, int64 or string, in blocks. Raises UserError at the first line that is no such id."""
        line = 1
        with closing(ByteStream(self.path)) as stream:
            for data in whole_lines(stream, block_bytes, "text with one id a line"):
                ids = self._ids(data, line, kind)
                yield ids
                line += len(ids)
            self.checksum = stream.checksum

    def _ids(self, data: bytes, line: int, kind: IdKind) -> pa.Array:
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            place = line + data.count(b"\n", 0, error.start)
            raise UserError(f"{self.path}:{place}: not UTF-8: save the file as UTF-8 text, one id a line") from error
        lines = text.split("\n")
        if "\r" in text:
            lines = [line.removesuffix("\r") for line in lines]
        ids = pa.array(lines, pa.string())
        plain = "^[0-9]{1,18}$" if kind == "int" else "."
        if not pc.all(pc.match_substring_regex(ids, plain)).as_py():
            self._check_lines(lines, line, kind)
        return ids if kind == "str" else pa.array(map(integer_of, lines), pa.int64())

    def _check_lines(self, lines: list[str], first: int, kind: IdKind) -> None:
        for line, text in enumerate(lines, first):
            if fault := id_fault(text, kind):
                other = ", or keep ids as text with --ids str" if kind == "int" else ""
                raise UserError(f"{self.path}:{line}: {fault}: {text[:200]!r}: write one id a line{other}")
