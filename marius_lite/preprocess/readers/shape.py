"""How lines of text become fields: what a file of any line-by-line format looks like to the parser of blocks."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.options import Options

PLAIN_INT = re.compile(r"[ \t]*(0|-?[1-9][0-9]*)[ \t]*")  # nothing is lost when it is read as a number
ANY_INT = re.compile(r"[ \t]*-?[0-9]+[ \t]*")
BEYOND = 1 << 64


@dataclass(frozen=True)
class LineShape:
    """How to read a text file: ``roles`` maps src, dst and perhaps rel, weight, time to field numbers among ``fields``.

    ``titles``: of these columns, in the order of ``roles``. ``fixed``: what always stands in a field. ``nodes``: the file says
    that ids 1 to ``nodes`` exist, and no others; ``rows``: how many edges it says it has.
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
        """Quotes mean something in comma-separated files only."""
        return self.delimiter == ","

    @property
    def numbered(self) -> bool:
        """Ids are 1 to ``nodes``, whatever kind is asked for."""
        return self.nodes is not None

    @property
    def least(self) -> int:
        """The smallest integer id."""
        return 1 if self.numbered else 0

    def prepare(self, data: bytes) -> bytes | None:
        """Whole lines without comments as the delimited reader wants them; None where only `split` can tell."""
        return data

    def blank(self, line: bytes) -> bool:
        """Whether a line is no row."""
        return not line.strip(b" \r")

    def doubtful(self, role: str, values: pa.Array) -> bool:
        """Whether a column of text that the delimited reader found may hold what `split` would refuse."""
        return False

    def split(self, line: str) -> list[str]:
        """The fields of one line. Raises csv.Error for a quote that does not close, ValueError for what cannot be split."""
        if self.quoted and '"' in line:
            return next(csv.reader([line], strict=True))
        return line.split(self.delimiter)

    def joined(self, line: bytes, fields: list[str]) -> bytes:
        """A good line, split into ``fields``, as the delimited reader wants it."""
        return line


class SpacedShape(LineShape):
    """Fields stand apart by any number of spaces or tabs."""

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
    """What `ANY_INT` matched, as a number; one of more than 64 bits, which may have millions of digits, only as `BEYOND` or its
    negative: Python refuses to read more than 4,300."""
    sign, digits = ("-" in text), text.strip(" \t-").lstrip("0")
    size = int(digits or "0") if len(digits) < 20 else BEYOND
    return -size if sign else size


@dataclass(frozen=True)
class Layout:
    """A format of text: what its comment lines start with, and the shape a file has that starts with given whole lines.

    ``shape_of`` (sample, options, file name) gives None without a row, and raises UserError where the sample makes no sense.
    """

    comment: Callable[[Options], bytes]
    shape_of: Callable[[bytes, Options, str], LineShape | None]
