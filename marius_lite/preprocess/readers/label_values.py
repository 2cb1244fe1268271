"""Files of the nodes' classes: a value for each row of an array, of text or of a Parquet column, or for each id beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from marius_lite.errors import UserError
from marius_lite.files import reading
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.array_file import ArrayFile, OfArray
from marius_lite.preprocess.readers.arrays import kind_of
from marius_lite.preprocess.readers.lines import LineBlocks, whole_lines
from marius_lite.preprocess.readers.node_ids import IdList
from marius_lite.preprocess.readers.node_types import TypeFile, TypeTable, TypeText
from marius_lite.preprocess.readers.parquet_file import open_parquet
from marius_lite.preprocess.readers.source import ByteStream, checksum_of, locate, magic_of
from marius_lite.preprocess.readers.titles import MOST_SHOWN, titled

BLOCK = 1 << 18
BLOCK_BYTES = 1 << 20
MOST_CLASSES = 1 << 24  # more are no classes: cross entropy would not fit in memory
NONE = -1
USUAL = ("labels", "label", "y")
DELIMITERS = re.compile(r"[\t,;|]")
INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"  # with leading zeros it is a name
QUOTED = r'^"(.*)"$'  # as in a table of one column
TWO = re.compile(r"\s*(\S+)\s+(\S+)\s*")
WRITE = "write text: a class in each line, or a node's id and its class"
ADVICE = f"save a one-dimensional array of integers or names, a class for each node and -1 for none, with numpy.save, or {WRITE}"
RANGE = f"class numbers are 0 to {MOST_CLASSES - 1}, or -1 for no label: number the classes from 0, or give names"
FRACTION = "labels are classes, and numbers are not predicted: make a class of each range of them, or leave the labels out"


class LabelValues(Protocol):
    """An opened file. ``ids``: the nodes of its rows, where it has them. ``checksum``: the crc32c of its bytes, known when `read`
    has ended. ``warnings``: a line for each sign that it is not read as it is meant."""

    ids: IdList | None
    path: Path
    name: str
    warnings: list[str]

    @property
    def checksum(self) -> int: ...

    def read(self) -> Iterator[pa.Array]:
        """Read labels in blocks: int64 or string, null for none. Raises UserError for a value that can be no label."""
        ...

    def place(self, row: int) -> str:
        """Return where row ``row`` stands, for messages."""
        ...


def open_labels(file: Path, options: Options) -> LabelValues:
    """Open a file by its content: an array, Parquet, or text. Raises UserError for what cannot be such a file."""
    magic = magic_of(locate(file)[0])
    if magic in ("npy", "zip"):
        return _ArrayValues(file)
    if magic == "parquet":
        with reading(file), open_parquet(file) as opened:
            alone = len(opened.schema_arrow.names) == 1
        return _ColumnValues(file) if alone else _PairValues(TypeTable(file, options, "label"))
    own = replace(options, delimiter=None, header="auto")  # these options are about the edges' text
    with closing(ByteStream(file)) as stream:
        head = LineBlocks(stream, options.comment.encode(), BLOCK_BYTES).sample.decode("utf-8", "replace").splitlines()[:100]
    lines = [line for line in head if line.strip() and not (options.comment and line.startswith(options.comment))]
    if lines and (all(DELIMITERS.search(line) for line in lines) or _spaced_pairs(lines)):
        return _PairValues(TypeText(file, own, "label"))
    return _LineValues(file, lines, options.comment)


def _spaced_pairs(lines: list[str]) -> bool:
    """Whether spaces separate ids from classes: each line has two words, the first words all differ, the second do not."""
    words = [TWO.fullmatch(line) for line in lines]
    if not all(words):
        return False
    ids, values = ([word[part] for word in words if word] for part in (1, 2))
    return len(set(ids)) == len(ids) and 2 * len(set(values)) <= len(values)


class _ArrayValues(OfArray):
    """Integers, floats that are integers (NaN: none), or text of fixed width; shape (nodes,) or (nodes, 1)."""

    ids: IdList | None = None

    def __init__(self, file: Path):
        super().__init__(ArrayFile(file, ADVICE, USUAL))
        self.warnings: list[str] = []
        shape, dtype = self._array.shape, self._array.dtype
        if dtype.kind not in "iufU" or len(shape) not in (1, 2) or shape[0] < 1 or shape[1:] not in ((), (1,)):
            raise UserError(f"{self.name}: an array of {dtype}, shape {shape}: {ADVICE}")

    def place(self, row: int) -> str:
        return f"{self.name}: row {row}"

    def read(self) -> Iterator[pa.Array]:
        for first, block in self._array.blocks(BLOCK):
            values = block.reshape(-1)
            values = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
            if values.dtype.kind == "U":
                yield pa.array(values)
                continue
            none = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
            wrong = ~none & ((values < NONE) | (values >= MOST_CLASSES) | (values != np.trunc(values)))
            if wrong.any():
                row = int(wrong.argmax())
                what = RANGE if values[row] == np.trunc(values[row]) else FRACTION
                raise UserError(f"{self.place(first + row)}: label {values[row]}: {what}")
            yield pa.array(np.where(none, NONE, values).astype(np.int64))


class _LineValues:
    """UTF-8 text, perhaps compressed, with a label in each line that is no comment. The first line may be a title."""

    ids: IdList | None = None

    def __init__(self, path: Path, head: list[str], comment: str):
        self.path, self.name, self.checksum = path, str(path), 0
        self._comment = comment
        title = titled([line.strip().strip('"') for line in head]) if head else False
        self._titled = title is True
        self.warnings = (
            []
            if title is not None
            else [
                f"{path}: {head[0].strip()[:MOST_SHOWN]!r} is taken for a class, which no other of the first lines has: if it is "
                "a title, remove it, or call it `label`"
            ]
        )

    def place(self, row: int) -> str:
        return f"{self.path}: row {row}"

    def read(self) -> Iterator[pa.Array]:
        line, skip = 1, int(self._titled)
        with closing(ByteStream(self.path)) as stream:
            for lines in whole_lines(stream, BLOCK_BYTES, "text with a label in each line"):
                values = self._values(lines, line)
                line += len(values)
                if self._comment:
                    values = values.filter(pc.invert(pc.starts_with(values, self._comment)))
                yield values[skip:]
                skip -= min(skip, len(values))
            self.checksum = stream.checksum

    def _values(self, lines: bytes, first: int) -> pa.Array:
        try:
            values = pc.utf8_trim_whitespace(pa.array(lines.decode().split("\n"), pa.string()))
        except UnicodeDecodeError as error:
            place = first + lines.count(b"\n", 0, error.start)
            raise UserError(f"{self.path}:{place}: not UTF-8: save the file as UTF-8, or {ADVICE}") from error
        if (empty := pc.index(values, "").as_py()) >= 0:
            raise UserError(f"{self.path}:{first + empty}: no label: write one in each line, -1 for none")
        if not pc.any(pc.match_substring_regex(values, QUOTED), min_count=0).as_py():
            return values
        return pc.replace_substring(pc.replace_substring_regex(values, QUOTED, r"\1"), '""', '"')


class _ColumnValues:
    """The only column of a Parquet file: integers, floats that are integers, or strings; null is none."""

    ids: IdList | None = None

    def __init__(self, path: Path):
        self.path, self.name, self.checksum = path, str(path), 0
        self.warnings: list[str] = []

    def place(self, row: int) -> str:
        return f"{self.path}: row {row}"

    def read(self) -> Iterator[pa.Array]:
        self.checksum = checksum_of(self.path, lambda _: None)
        with reading(self.path), open_parquet(self.path, buffer_size=1 << 20, pre_buffer=False) as opened:
            for batch in opened.iter_batches(BLOCK):
                values, type = batch.column(0), batch.schema.field(0).type
                kind = type.value_type if pa.types.is_dictionary(type) else type
                where = f"{self.path}: column {batch.schema.names[0]!r}"
                if pa.types.is_floating(kind):
                    values = pc.if_else(pc.is_nan(values), pa.scalar(None, kind), values)
                elif kind_of(kind) is None:
                    raise UserError(f"{where} is of type {type}: labels must be integers or strings")
                try:
                    yield values.cast(pa.string() if kind_of(kind) == "str" else pa.int64())
                except pa.ArrowInvalid as error:
                    raise UserError(f"{where}: {error}: labels must be integers or strings") from error


class _PairValues:
    """Two columns, a node's id and its label, as in files of node types."""

    def __init__(self, file: TypeFile):
        self._file, self.warnings = file, file.warnings
        self.path, self.name = file.path, str(file.path)
        self.ids: IdList | None = _PairIds(file)

    @property
    def checksum(self) -> int:
        return self._file.checksum

    def place(self, row: int) -> str:
        return f"{self.path}: row {row}"

    def read(self) -> Iterator[pa.Array]:
        for _, values in self._file.read("str", BLOCK_BYTES):
            yield values.dictionary_decode()


class _PairIds:
    """The ids in a file of ids and labels."""

    def __init__(self, file: TypeFile):
        self._file, self.path = file, file.path

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    @property
    def checksum(self) -> int:
        return self._file.checksum

    def place(self, at: int) -> str:
        return f"{self.path}: row {at}"

    def read(self, kind: IdKind, block_bytes: int) -> Iterator[pa.Array]:
        for ids, _ in self._file.read(kind, block_bytes):
            yield ids
