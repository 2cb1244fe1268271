"""How lines of text become fields: what the parser of blocks must know of a file, whatever its format of lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.options import Options

PLAIN_INT = re.compile(r"[ \t]*(0|-?[1-9][0-9]*)[ \t]*")  # reading it as a number loses nothing
ANY_INT = re.compile(r"[ \t]*-?[0-9]+[ \t]*")
NUMBER = re.compile(r"[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t]*")
BEYOND = 1 << 64


@dataclass(frozen=True)
class LineShape:
    """How to read a text file: ``roles`` maps src, dst and perhaps rel, weight, time to field numbers among ``fields``.

    ``titles``: of these columns, in the order of ``roles``. ``fixed``: the text that a field always has. ``nodes``: the file says
    that ids 1 to ``nodes`` exist, and no others. ``rows``: the number of edges that the file announces.
    """

    delimiter: str
    header: bool
    fields: int
    roles: dict[str, int]
    ids: IdKind
    comment: bytes = b""
    fixed: Mapping[int, str] = field(default_factory=dict)
    nodes: int | None = None
    rows: int | None = None
    description: str = "text"
    titles: tuple[str, ...] = ()

    @property
    def quoted(self) -> bool:
        """Whether quotes are no part of a field: in comma-separated files only."""
        return self.delimiter == ","

    @property
    def numbered(self) -> bool:
        """Whether ids are 1 to ``nodes``, whatever kind is asked for."""
        return self.nodes is not None

    @property
    def least(self) -> int:
        """The smallest integer id."""
        return 1 if self.numbered else 0

    def prepare(self, data: bytes) -> bytes | None:
        """Return whole lines without comments in the form that the delimited reader takes; None where each line needs `split`."""
        return data

    def blank(self, line: bytes) -> bool:
        """Whether a line is no row."""
        return not line.strip(b" \r")

    def doubtful(self, role: str, values: pa.Array) -> bool:
        """Whether a column of text from the delimited reader may hold what `split` would refuse."""
        return False

    def split(self, line: str) -> list[str]:
        """Return the fields of one line. Raises csv.Error for a quote that does not close, ValueError for what cannot be
        split."""
        if self.quoted and '"' in line:
            return next(csv.reader([line], strict=True))
        return line.split(self.delimiter)

    def joined(self, line: bytes, fields: list[str]) -> bytes:
        """Return a good line in the form that the delimited reader takes. ``fields``: the line, split."""
        return line


class SpacedShape(LineShape):
    """Lines whose fields are separated by any number of spaces or tabs."""

    def prepare(self, data: bytes) -> bytes | None:
        data = data.replace(b"\r\n", b"\n").replace(b"\t", b" ")
        if b"\r" in data:
            return None
        while b"  " in data:
            data = data.replace(b"  ", b" ")
        return data.replace(b" \n", b"\n").replace(b"\n ", b"\n").removeprefix(b" ")

    def blank(self, line: bytes) -> bool:
        return not line.strip(b" \t\r")

    def split(self, line: str) -> list[str]:
        return [field for field in line.replace("\t", " ").split(" ") if field]

    def joined(self, line: bytes, fields: list[str]) -> bytes:
        return self.delimiter.join(fields).encode("utf-8", "surrogateescape")


def integer_of(text: str) -> int:
    """Return a text that `ANY_INT` matches as a number. A number of more than 64 bits becomes `BEYOND` or its negative: it may
    have millions of digits, and Python refuses to read more than 4,300."""
    sign, digits = ("-" in text), text.strip(" \t-").lstrip("0")
    size = int(digits or "0") if len(digits) < 20 else BEYOND
    return -size if sign else size


@dataclass(frozen=True)
class Layout:
    """A format of text. ``comment``: what its comment lines start with. ``shape_of`` (sample, options, file name): the shape of a
    file that starts with the whole lines of ``sample``; None without a row. It raises UserError where the sample makes no sense.
    """

    comment: Callable[[Options], bytes]
    shape_of: Callable[[bytes, Options, str], LineShape | None]
