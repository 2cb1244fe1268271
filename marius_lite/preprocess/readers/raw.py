"""What every reader yields: edges with raw ids, and bad rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import pyarrow as pa

from marius_lite.graph.ids import IdKind
from marius_lite.printable import printable

MOST_CONTENT = 200


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that is no edge: where it stands, the reason, and its first characters.

    ``line``: the line of a text file, from 1; with ``unit`` "row", the row of an array or a table, from 0. None where the whole
    file is at fault.
    """

    file: str
    line: int | None
    reason: str
    content: str = ""
    unit: str = "line"

    @property
    def place(self) -> str:
        if self.line is None:
            return self.file
        return f"{self.file}:{self.line}" if self.unit == "line" else f"{self.file}: row {self.line}"

    def __str__(self) -> str:
        """One line. Bytes that are not UTF-8 are escapes in the content already: a repr would escape these again."""
        return f"{self.place}: {self.reason}" + (f": '{printable(self.content)}'" if self.content else "")


@dataclass(frozen=True)
class RawEdges:
    """A block of edges with raw ids. ``src``, ``dst``: int64 or string, without nulls. ``rel``: dictionary<string>. ``weight``:
    float32, finite. ``time``: int64.

    ``rel``, ``weight`` and ``time`` are None where the input has no such column, or it was not asked for. ``comments`` (how many
    lines) and ``bad`` (rows) are what was left out.
    """

    src: pa.Array
    rel: pa.DictionaryArray | None
    dst: pa.Array
    comments: int = 0
    bad: list[BadRow] = field(default_factory=list)
    weight: pa.Array | None = None
    time: pa.Array | None = None


class Reader(Protocol):
    """One opened input file. ``kind``: of its ids. ``columns``: 2, or 3 with relations. Both are None for a file without rows."""

    @property
    def kind(self) -> IdKind | None: ...

    @property
    def columns(self) -> int | None: ...

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of the columns, by their roles, where the file has titles."""
        ...

    @property
    def nodes(self) -> range | None:
        """Raw ids that exist whether or not they have edges, where the file says so."""
        ...

    @property
    def description(self) -> str:
        """How the file is read, for messages."""
        ...

    @property
    def checksum(self) -> int:
        """crc32c of the file's bytes, known when all are read."""
        ...

    def close(self) -> None: ...

    def rows_expected(self) -> int:
        """Estimate how many rows will come."""
        ...

    def read(self, kind: IdKind) -> Iterator[RawEdges]:
        """Read all edges, with ids of ``kind``. Raises UserError at the first bad row unless these are skipped."""
        ...


@dataclass(frozen=True)
class Stretch:
    """A stretch of a file that can be read by itself: units ``first`` to before ``last``. A unit is a byte of text, a row group
    of a table, a row of an array.

    ``begin``, ``end``: the bytes of the file whose checksum the reader of the stretch takes. ``line``: the number of its first
    line, where that is known; else lines are counted from 1.
    """

    first: int
    last: int
    begin: int
    end: int
    line: int = 1


@runtime_checkable
class CuttableReader(Protocol):
    """A reader whose file can be read in stretches, by one reader for each (`format.Opening.stretch`).

    The readers of all stretches give the rows that the reader of the whole file gives. The ``checksum`` of each is that of the
    stretch's bytes.
    """

    def stretches(self, size: int) -> list[Stretch]:
        """Return stretches of about ``size`` bytes, which together are the file. None where it has to be read as a whole."""
        ...

    @property
    def lines(self) -> int:
        """How many lines of text were read."""
        ...


def shares(end: int, count: int) -> list[tuple[int, int]]:
    """Return ``count`` ranges that together are the bytes of a file of ``end`` bytes."""
    return [(end * place // count, end * (place + 1) // count) for place in range(count)]
