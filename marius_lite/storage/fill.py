"""Fill a table with first rows: every partition passes through the buffer once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol


class Adopting(Protocol):
    """The methods of a PartitionBuffer that first rows need. `_native.DryBuffer` has them too."""

    def adopt(self, k: int, /) -> object: ...

    def enter(self, now: Sequence[int], next: Sequence[int], /) -> object: ...


def each_adopted(buffer: Adopting, partitions: int, slots: int) -> Iterator[int]:
    """Yield each partition, which is resident without being read. Make its rows before you ask for the next one.

    One slot stays free for the next partition, unless all fit. Partitions that must leave are written; the last ones stay dirty.
    """
    kept = slots if slots >= partitions else slots - 1
    for k in range(partitions):
        buffer.adopt(k)
        yield k
        buffer.enter(range(max(0, k + 1 - kept), k + 1), [])
