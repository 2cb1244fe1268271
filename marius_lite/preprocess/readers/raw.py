"""What every reader yields, and what it calls a bad row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from marius_lite.graph.ids import IdKind

MOST_CONTENT = 200


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that is no edge: where it stands, the reason, and the first characters of what it says.

    ``line``: of a text file, from 1; ``unit`` "row": of an array or a table, from 0. None where the file as a whole is at fault.
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
        return f"{self.place}: {self.reason}" + (f": {self.content!r}" if self.content else "")


@dataclass(frozen=True)
class RawEdges:
    """A block of edges with raw ids: ``src`` and ``dst`` int64 or string without nulls, ``rel``
    dictionary<string>. ``weight`` float32 and ``time`` int64, each where the input has them.

    ``weight`` float32, finite; ``time`` int64. ``rel``, ``weight`` and ``time`` are None where the input has no such column or it
    was not asked for. ``comments`` and ``bad`` count what was left out.
    """

    src: pa.Array
    rel: pa.DictionaryArray | None
    dst: pa.Array
    comments: int = 0
    bad: list[BadRow] = field(default_factory=list)
    weight: pa.Array | None = None
    time: pa.Array | None = None


class Reader(Protocol):
    """One opened input file. ``kind``: what ids look like; ``columns``: 2, or 3 with relations; None where nothing tells."""

    @property
    def kind(self) -> IdKind | None: ...

    @property
    def columns(self) -> int | None: ...

    @property
    def titles(self) -> tuple[str, ...]:
        """Of the columns by their roles, where the file has titles."""
        ...

    @property
    def nodes(self) -> range | None:
        """Raw ids that exist whether or not they have edges, where the file says so."""
        ...

    @property
    def description(self) -> str:
        """What the file was taken for."""
        ...

    @property
    def checksum(self) -> int:
        """crc32c of the file's bytes, known when all are read."""
        ...

    def close(self) -> None: ...

    def rows_expected(self) -> int:
        """About how many rows will come."""
        ...

    def read(self, kind: IdKind) -> Iterator[RawEdges]:
        """All edges, ids as ``kind``. Raises UserError at the first bad row unless they are to be skipped."""
        ...
