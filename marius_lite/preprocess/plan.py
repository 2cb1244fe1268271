"""What of its memory each part of preprocess may take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Bounds(Protocol):
    """Of a command that writes a dataset: bytes of ``memory``, and the splits that there will be."""

    @property
    def memory(self) -> int: ...

    @property
    def splits(self) -> Sequence[str]: ...


def sort_memory(options: Bounds) -> int:
    """What records being sorted may take, beside the ids of their keys and blocks of the spool."""
    return options.memory // 2


def pass_memory(options: Bounds) -> int:
    """What features being placed, edges being merged, or a partition's neighbour lists, may take."""
    return options.memory * 3 // 4


def column_memory(options: Bounds) -> int:
    """What waits to be written, of edges of all splits or of neighbour lists, may take."""
    return options.memory // 8


def split_memory(options: Bounds) -> int:
    """The part of that for the edges of one split."""
    return column_memory(options) // len(options.splits)
