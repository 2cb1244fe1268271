"""What every reader yields, and what it calls a bad row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from marius_lite.graph.ids import IdKind


@dataclass(frozen=True)
class BadRow:
    """A row that is no edge: its place (``file:line`` or ``file: row``), the reason, and what it says."""

    place: str
    reason: str
    content: str

    def __str__(self) -> str:
        return (
            f"{self.place}: {self.reason}: {self.content!r}"
            if self.content
            else f"{self.place}: {self.reason}"
        )


@dataclass(frozen=True)
class RawEdges:
    """A block of edges with raw ids: ``src`` and ``dst`` int64 or string without nulls, ``rel``
    dictionary<string>. ``weight`` float32 and ``time`` int64, each where the input has them.

    ``rel`` is None where the input has no relation column. ``comments`` and ``bad`` count what was left out.
    """

    src: pa.Array
    rel: pa.DictionaryArray | None
    dst: pa.Array
    comments: int = 0
    bad: list[BadRow] = field(default_factory=list)
    weight: pa.Array | None = None
    time: pa.Array | None = None


class Reader(Protocol):
    """One opened input file. ``kind`` and ``columns`` (2 or 3): what its first rows look like, or None."""

    @property
    def kind(self) -> IdKind | None: ...

    @property
    def columns(self) -> int | None: ...

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
