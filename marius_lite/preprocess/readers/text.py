"""Delimited text. pyarrow parses blocks of whole lines, in order, on a few threads.

Some blocks are checked line by line, which finds the exact place of a fault: those that pyarrow refuses, and those that hold what
it accepts but we do not (an empty field, a negative id).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from sys import intern

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.columns import VALUES
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.folders import announced_nodes
from marius_lite.preprocess.readers.format import Format, Opening
from marius_lite.preprocess.readers.in_order import ordered_map
from marius_lite.preprocess.readers.lines import LineBlock, LineBlocks, count_lines, strip_comments
from marius_lite.preprocess.readers.raw import MOST_CONTENT, BadRow, RawEdges, Reader, Stretch
from marius_lite.preprocess.readers.roles import columns_used
from marius_lite.preprocess.readers.shape import ANY_INT, NUMBER, Layout, LineShape, integer_of
from marius_lite.preprocess.readers.sniff import DELIMITED
from marius_lite.preprocess.readers.source import ByteStream

MOST_SKIPPING = 1 << 20
NAMES = ("rel", "type", "label")  # roles that are text, of which a few distinct ones are expected
NAME_TYPE = pa.dictionary(pa.int32(), pa.string())
QUOTED = re.compile(rb'(?:^|,)"(?:[^"\n]|"")*"(?=,|\r?$)', re.MULTILINE)
BEGUN = re.compile(rb'(?:^|,)"', re.MULTILINE)
Columns = dict[str, pa.Array]


class TextReader:
    """Reads one text file. Each of ``threads`` parses ``block_bytes`` at a time.

    ``nodes``: another file says that ids 0 to ``nodes`` - 1 exist. ``stretch``: the part of the file to read. ``lines``: how many
    were read.
    """

    def __init__(
        self,
        stream: ByteStream,
        options: Options,
        block_bytes: int,
        threads: int,
        layout: Layout = DELIMITED,
        nodes: int | None = None,
        stretch: Stretch | None = None,
    ):
        self._stream, self._stretch, self.lines = stream, stretch, 0
        self._nodes = nodes
        self._options = options
        self._threads = threads
        self.path = stream.name
        if options.on_bad_row == "skip":  # every bad row of a block becomes an object
            block_bytes = min(block_bytes, MOST_SKIPPING)
        self._lines = LineBlocks(stream, layout.comment(options), block_bytes)
        self.shape = layout.shape_of(self._lines.sample, options, self.path)

    @property
    def kind(self) -> IdKind | None:
        return self.shape.ids if self.shape else None

    @property
    def columns(self) -> int | None:
        return columns_used(self.shape.roles) if self.shape else None

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of the columns, by their roles, where the file has a header."""
        return self.shape.titles if self.shape else ()

    @property
    def nodes(self) -> range | None:
        if self.shape and self.shape.nodes is not None:
            return range(1, self.shape.nodes + 1)
        return None if self._nodes is None else range(self._nodes)

    @property
    def description(self) -> str:
        shape = self.shape.description if self.shape else "empty text"
        return shape + ("" if self._stream.compression == "text" else f", {self._stream.compression}")

    @property
    def checksum(self) -> int:
        return self._stream.checksum

    def close(self) -> None:
        self._stream.close()

    def rows_expected(self) -> int:
        if self.shape and self.shape.rows is not None:
            return self.shape.rows
        return self._lines.expected()

    def read(self, kind: IdKind) -> Iterator[RawEdges]:
        if self.shape is None:
            return iter(())
        parser = BlockParser(self.path, self.shape, kind, self._options)
        edges = ordered_map(parser.parse, self._blocks(self.shape), self._threads)
        return edges if self.shape.rows is None else self._counted(edges, self.shape.rows)

    def stretches(self, size: int) -> list[Stretch]:
        """Return stretches of the file, see `CuttableReader`. Rows that the file announces are counted in one piece."""
        return [] if self.shape is None or self.shape.rows is not None else self._lines.stretches(size)

    def _blocks(self, shape: LineShape) -> Iterator[LineBlock]:
        for block in self._lines.blocks(shape.header, self._stretch):
            self.lines += count_lines(block.data)
            yield block

    def _counted(self, edges: Iterator[RawEdges], announced: int) -> Iterator[RawEdges]:
        """Return ``edges``. Raises UserError at the end where they are not as many as the file announces, unless bad rows are
        skipped."""
        count = 0
        for block in edges:
            count += len(block.src) + len(block.bad)
            yield block
        if count == announced:
            return
        fault = BadRow(self.path, None, f"{count} edges where its header says {announced}")
        if self._options.on_bad_row == "error":
            raise UserError(
                f"{fault}: the file is cut short or was changed: get it again, or take it as it is with --on-bad-row skip"
            )
        yield RawEdges(block.src[:0], None, block.dst[:0], 0, [fault])


class BlockParser:
    """Parses blocks of one file into `RawEdges`, or into columns by role. Several threads use it at once.

    ``strict``: every bad row is an error, whatever --on-bad-row says.
    """

    def __init__(self, path: str, shape: LineShape, kind: IdKind, options: Options, strict: bool = False):
        self.path = path
        self.shape = shape
        self.kind: IdKind = "int" if shape.numbered else kind
        self._as_text = kind != self.kind
        self._strict = strict
        self._skip = options.on_bad_row == "skip" and not strict
        self._auto, self._text_advice = options.ids == "auto", options.text_advice
        self._no_weight = options.weight_default
        self._perhaps_titles = options.header == "auto" and not (shape.header or shape.numbered or shape.fixed or strict)
        names = [str(i) for i in range(shape.fields)]
        self._name_of = {role: names[place] for role, place in shape.roles.items()}
        id_type = pa.int64() if self.kind == "int" else pa.string()
        type_of = {**dict.fromkeys(NAMES, NAME_TYPE), "weight": pa.float32(), "time": pa.int64()}
        types = {name: type_of.get(role, id_type) for role, name in self._name_of.items()}
        self._fixed = {names[place]: text for place, text in shape.fixed.items()}
        types |= dict.fromkeys(self._fixed, NAME_TYPE)
        self._parse = pa.csv.ParseOptions(delimiter=shape.delimiter, quote_char='"' if shape.quoted else False)
        nulls = [""] if self._no_weight is not None else []
        self._convert = pa.csv.ConvertOptions(
            column_types=types, include_columns=list(types), null_values=nulls, strings_can_be_null=False
        )
        self._names = names
        end = re.escape(shape.delimiter.encode())
        integers = [place for place in shape.roles.values() if types[names[place]] == pa.int64()]
        hexadecimal = rb"^(?:[^%b\n]*%b){%d}[ \t]*-?0[xX]"
        self._numbers = [re.compile(hexadecimal % (end, end, place), re.MULTILINE) for place in integers]
        self._empty = {name: pa.array([], type) for name, type in types.items()}

    def parse(self, block: LineBlock) -> RawEdges:
        columns, comments, bad = self.columns(block)
        src, dst = (columns[role].cast(pa.string()) if self._as_text else columns[role] for role in ("src", "dst"))
        weight, time = (columns.get(role) for role in VALUES)
        if weight is not None and weight.null_count:
            weight = weight.fill_null(self._no_weight)
        return RawEdges(src, columns.get("rel"), dst, comments, bad, weight, time)

    def columns(self, block: LineBlock) -> tuple[Columns, int, list[BadRow]]:
        """Return (values by role, number of comment lines, bad rows) of whole lines. `NAMES` are dictionary<string>. Raises
        UserError at the first bad row unless these are skipped."""
        data, comments = strip_comments(block.data, self.shape.comment)
        comments += block.comments
        if not data.lstrip(b"\r\n"):
            return self._by_role(pa.table(self._empty)), comments, []
        if (prepared := self.shape.prepare(data)) is not None:
            try:
                table = self._table(prepared)
                if not self._hides_something(table, prepared):
                    return self._by_role(table), comments, []
            except pa.ArrowInvalid:
                pass
        good, bad = self._check_lines(block)
        try:
            table = self._table(b"\n".join([*good, b""])) if good else pa.table(self._empty)
        except pa.ArrowInvalid as error:
            last = block.line + block.data.count(b"\n") - 1
            raise UserError(f"{self.path}:{block.line}-{last}: {str(error).splitlines()[0]}: mend these lines") from error
        return self._by_role(table), comments, bad

    def _table(self, data: bytes) -> pa.Table:
        read = pa.csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=self._names)
        return pa.csv.read_csv(pa.BufferReader(data), read, self._parse, self._convert)

    def _by_role(self, table: pa.Table) -> Columns:
        columns = {role: table.column(name) for role, name in self._name_of.items()}
        return {
            role: (column.unify_dictionaries() if role in NAMES else column).combine_chunks() for role, column in columns.items()
        }

    def _hides_something(self, table: pa.Table, data: bytes) -> bool:
        """Whether a parsed block may hold what pyarrow accepts but we do not."""
        if any(self._outside(role, chunk) for role, name in self._name_of.items() for chunk in table.column(name).chunks):
            return True
        for name, text in self._fixed.items():
            if any(chunk.dictionary.to_pylist() != [text] for chunk in table.column(name).chunks if len(chunk)):
                return True
        if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
            return True
        return (self.shape.quoted and b'"' in data and BEGUN.search(QUOTED.sub(b"", data)) is not None) or self._hex(data)

    def _hex(self, data: bytes) -> bool:
        """Whether a number is written as 0x..., which pyarrow accepts."""
        if not self._numbers or not any(mark in data and b"0" + mark in data for mark in (b"x", b"X")):
            return False
        if self.shape.quoted and b'"' in data:
            return True
        return any(number.search(data) for number in self._numbers)

    def _outside(self, role: str, values: pa.Array) -> bool:
        """Whether a column has an empty text that is no label, an integer that is no id, or a weight that is not finite. Null is
        an empty number: only a weight may be empty, where --weight-default says what it stands for."""
        if role == "weight":
            return not pc.all(pc.is_finite(values), min_count=0).as_py()
        if values.null_count:
            return True
        if not len(values) or role == "time":
            return False
        if role in NAMES or self.kind == "str":
            texts = values.dictionary if role in NAMES else values
            return pc.min(pc.binary_length(texts)).as_py() < (role != "label") or self.shape.doubtful(role, texts)
        bounds = pc.min_max(values).as_py()
        most = self.shape.nodes
        return bounds["min"] < self.shape.least or (most is not None and bounds["max"] > most)

    def _check_lines(self, block: LineBlock) -> tuple[list[bytes], list[BadRow]]:
        """Return good lines, and what is wrong with the others. Raises UserError at the first bad line unless these are
        skipped."""
        good: list[bytes] = []
        bad: list[BadRow] = []
        for number, line in enumerate(block.data.split(b"\n")[:-1], block.line):
            line = line.removesuffix(b"\r")
            if self.shape.blank(line) or (self.shape.comment and line.startswith(self.shape.comment)):
                continue
            fields, reason = self._checked(line)
            if reason is None:
                good.append(self.shape.joined(line, fields))
                continue
            content = line[: 4 * MOST_CONTENT].decode("utf-8", "backslashreplace")[:MOST_CONTENT]
            row = BadRow(self.path, number, intern(reason), content)
            if not self._skip:
                skip = "" if self._strict else ", or leave such lines out with --on-bad-row skip"
                raise UserError(f"{row}: mend the line{skip}{self._advice(reason)}{self._title_advice(number)}")
            bad.append(row)
        return good, bad

    def _advice(self, reason: str) -> str:
        if " id" not in reason or self.shape.numbered:
            return ""
        return self._text_advice + (" (the first rows looked like integers)" if self._auto else "")

    def _title_advice(self, number: int) -> str:
        """A first line that is bad may be titles: these are told from data by what is under them, which may be bad itself."""
        return ", or say that it has titles: --header yes" if number == 1 and self._perhaps_titles else ""

    def _checked(self, line: bytes) -> tuple[list[str], str | None]:
        """Return the fields of a line, and what is wrong with it; None where nothing is."""
        try:
            text = line.decode("utf-8", "surrogateescape")
            fields = self.shape.split(text)
        except csv.Error:
            return [], "a quote does not close"
        except ValueError as error:
            return [], str(error)
        if "\r" in text:
            return fields, "a carriage return inside the line"
        if len(fields) != self.shape.fields:
            return fields, f"{len(fields)} columns where {self.shape.fields} were expected"
        for place, expected in self.shape.fixed.items():
            if fields[place] != expected:
                return fields, f"column {place + 1}: {fields[place]!r} where {expected!r} was expected"
        for role, place in self.shape.roles.items():
            if reason := self._field_fault(role, fields[place]):
                return fields, f"column {place + 1} ({role}): {reason}"
        return fields, None

    def _field_fault(self, role: str, field: str) -> str | None:
        if not field.isascii() and any("\udc80" <= letter <= "\udcff" for letter in field):
            return "not UTF-8"
        if role in VALUES:
            return None if role == "weight" and not field and self._no_weight is not None else _value_fault(role, field)
        if role == "label":  # an empty one is no label
            return None
        fault = id_fault(field, "str" if role in NAMES else self.kind)
        most = self.shape.nodes
        if fault is None and most is not None and role != "rel" and not 1 <= integer_of(field) <= most:
            return f"no id from 1 to {most}, which the header announces"
        return fault


def id_fault(text: str, kind: IdKind) -> str | None:
    """Return why a text is no id of this kind; None if it is one."""
    if not text:
        return "empty"
    if kind == "str":
        return None
    if not ANY_INT.fullmatch(text):
        return "not an integer id"
    value = integer_of(text)
    return "negative id" if value < 0 else "id above 2^63 - 1" if value >= 1 << 63 else None


def _value_fault(role: str, text: str) -> str | None:
    """Return why a text is no weight or no time; None if it is one."""
    if role == "time":
        return None if ANY_INT.fullmatch(text) and -(1 << 63) <= integer_of(text) < 1 << 63 else "no whole number of 64 bits"
    with np.errstate(over="ignore"):
        return None if NUMBER.fullmatch(text) and np.isfinite(np.float32(text.strip(" \t"))) else "no finite number"


def open_lines(opening: Opening, layout: Layout) -> Reader:
    """Return the reader of a file of lines in this layout."""
    return _open_text(opening, layout, None)


def _open_delimited(opening: Opening) -> Reader:
    return _open_text(opening, DELIMITED, announced_nodes(opening.file.path))


def _open_text(opening: Opening, layout: Layout, nodes: int | None) -> Reader:
    how = opening.options, opening.block_bytes, opening.threads, layout, nodes, opening.stretch
    return opening.of_stream(lambda stream: TextReader(stream, *how))


FORMAT = Format(_open_delimited, lines=True, values=True)
