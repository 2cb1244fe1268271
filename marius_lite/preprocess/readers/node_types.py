"""Files of the type of each node: two columns of text or of Parquet, or an array."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from marius_lite.errors import UserError
from marius_lite.files import reading
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.array_file import ArrayFile, OfArray
from marius_lite.preprocess.readers.arrays import checked_types, kind_of
from marius_lite.preprocess.readers.in_order import ordered_map
from marius_lite.preprocess.readers.lines import LineBlocks, comment_warnings
from marius_lite.preprocess.readers.parquet_file import open_parquet
from marius_lite.preprocess.readers.roles import node_roles, require_distinct
from marius_lite.preprocess.readers.shape import LineShape
from marius_lite.preprocess.readers.sniff import fields_of, rows_of, sniff
from marius_lite.preprocess.readers.source import ByteStream, checksum_of, locate, magic_of
from marius_lite.preprocess.readers.text import BlockParser
from marius_lite.preprocess.readers.titles import MOST_SHOWN, titled

USUAL = ("node_types", "node_type", "types", "type")
ADVICE = "save an array of shape (nodes, 2), ids and types, or (nodes,), the type of ids 0, 1, ..., with numpy.save"
ROW_BYTES = 64  # of a decoded row, about
MOST_LOOKED_AT = 1000  # rows of a sample
Typed = tuple[pa.Array, pa.DictionaryArray]
Value = Literal["type", "label"]  # what stands beside an id: a label may be left out


class TypeFile(Protocol):
    """An opened file. ``checksum``: the crc32c of its bytes, known when `read` has ended. ``warnings``: a line for each sign that
    it is not read as it is meant."""

    @property
    def path(self) -> Path: ...

    @property
    def warnings(self) -> list[str]: ...

    @property
    def checksum(self) -> int: ...

    def read(self, kind: IdKind, block_bytes: int) -> Iterator[Typed]:
        """Read (raw ids, int64 or string; their types, dictionary<string>) in the order of the file, in blocks.

        Raises UserError at the first bad row."""
        ...


def open_types(file: Path, options: Options) -> TypeFile:
    """Open text, Parquet, FILE.npy or FILE.npz:KEY; the content tells which. Raises UserError for what cannot be such a file."""
    magic = magic_of(locate(file)[0])
    if magic == "parquet":
        return TypeTable(file, options)
    return TypeArray(file) if magic in ("npy", "zip") else TypeText(file, options)


class TypeText:
    """Delimited text, perhaps compressed. --delimiter, --header and --comment hold for it."""

    def __init__(self, path: Path, options: Options, value: Value = "type"):
        self.path, self.checksum = path, 0
        self.warnings: list[str] = []
        self._options = options
        with closing(ByteStream(path)) as stream:
            sample = self._lines(stream, 1 << 16).sample
        shape = sniff(sample, options, str(path), node_roles(value))
        if shape is None:
            raise UserError(f"{path}: no rows: write a node's id and its {value} in each line")
        header = shape.header or (options.header == "auto" and self._titled(shape, rows_of(sample, options), value))
        self._shape, self._value = replace(shape, header=header), value

    def _titled(self, shape: LineShape, lines: list[str], value: Value) -> bool:
        """Whether the first row holds titles. Where that is in doubt, `warnings` gets a line."""
        rows = [fields_of(shape, line) for line in lines[:MOST_LOOKED_AT]]
        if len(rows[0]) != shape.fields:
            return False
        ids, values = ([row[shape.roles[role]] for row in rows if len(row) == shape.fields] for role in ("id", value))
        titles = titled(values, ids[0])
        if titles is None:
            node, its = ids[0][:MOST_SHOWN], values[0][:MOST_SHOWN]
            self.warnings.append(
                f"{self.path}: {node!r} is taken for a node, and {its!r} for its {value}, which no other of the "
                f"first rows has: if these are titles, call them `id` and `{value}`"
            )
        return titles is True

    def _lines(self, stream: ByteStream, block_bytes: int) -> LineBlocks:
        return LineBlocks(stream, self._options.comment.encode(), block_bytes)

    def read(self, kind: IdKind, block_bytes: int) -> Iterator[Typed]:
        parser = BlockParser(str(self.path), self._shape, kind, self._options, strict=True)
        rows = comments = 0
        with closing(ByteStream(self.path)) as stream:
            blocks = self._lines(stream, block_bytes).blocks(self._shape.header)
            for columns, left_out, _ in ordered_map(parser.columns, blocks, 1):
                rows, comments = rows + len(columns["id"]), comments + left_out
                yield columns["id"], columns[self._value]
            self.checksum = stream.checksum
        lines = [f"{self.path}: {line}" for line in comment_warnings(comments, rows, "nodes")]
        self.warnings += [line for line in lines if line not in self.warnings]  # it may be read twice


class TypeTable:
    """Two columns of a Parquet file: by name, or the only ones there are."""

    def __init__(self, path: Path, options: Options, value: Value = "type"):
        self.path, self.checksum, self._value = path, 0, value
        self.warnings: list[str] = []
        with reading(path), open_parquet(path) as opened:
            schema = opened.schema_arrow
        places = node_roles(value)(schema.names, len(schema.names), options, str(path))[0]
        self._names = [schema.names[places[role]] for role in ("id", value)]
        require_distinct(path, schema.names, self._names)
        for name in self._names:
            type = schema.field(name).type
            if kind_of(type) is None and not (value == "label" and name == self._names[1] and pa.types.is_floating(type)):
                raise UserError(f"{path}: column {name!r} is of type {type}: ids and {value}s must be integers or strings")

    def read(self, kind: IdKind, block_bytes: int) -> Iterator[Typed]:
        self.checksum = checksum_of(self.path, lambda _: None)
        first = 0
        with reading(self.path), open_parquet(self.path, buffer_size=1 << 20, pre_buffer=False) as opened:
            for batch in opened.iter_batches(max(1 << 10, block_bytes // ROW_BYTES), columns=self._names):
                ids, types = (batch.column(name) for name in self._names)
                types = _filled(types) if self._value == "label" else types
                yield checked_types(str(self.path), first, ids, types, kind)
                first += len(batch)


class TypeArray(OfArray):
    """Integers or fixed-width text: rows of an id and its type, or the types of ids 0, 1, ..."""

    def __init__(self, file: Path):
        super().__init__(ArrayFile(file, ADVICE, USUAL))
        self.warnings: list[str] = []
        shape, dtype = self._array.shape, self._array.dtype
        if dtype.kind not in "iuU" or len(shape) not in (1, 2) or shape[1:] not in ((), (2,)) or self._array.by_column:
            raise UserError(
                f"{self.name}: an array of {dtype}, shape {shape}"
                f"{', column after column' if self._array.by_column else ''}: {ADVICE}"
            )

    def read(self, kind: IdKind, block_bytes: int) -> Iterator[Typed]:
        alone = len(self._array.shape) == 1
        if alone and kind == "str":
            raise UserError(
                f"{self.name}: the edges name nodes by text, and row i is the type of the integer id i: save "
                "rows of an id and its type"
            )
        row_bytes = max(ROW_BYTES, 2 * self._array.dtype.itemsize)
        for first, block in self._array.blocks(max(1 << 10, block_bytes // row_bytes)):
            ids = np.arange(first, first + len(block)) if alone else block[:, 0]
            yield checked_types(self.name, first, _to_arrow(ids), _to_arrow(block if alone else block[:, 1]), kind)


def _filled(labels: pa.Array) -> pa.Array:
    """Return labels with -1 in place of null, NaN or empty text."""
    if pa.types.is_dictionary(labels.type):
        labels = labels.dictionary_decode()
    if kind_of(labels.type) == "str":
        labels = labels.cast(pa.string())
        return pc.if_else(pc.equal(labels, "").fill_null(True), "-1", labels)
    if pa.types.is_floating(labels.type):
        labels = pc.if_else(pc.is_nan(labels), pa.scalar(None, labels.type), labels)
    return labels.fill_null(-1)


def _to_arrow(values: Any) -> pa.Array:
    return pa.array(np.ascontiguousarray(values, values.dtype.newbyteorder("=")))
