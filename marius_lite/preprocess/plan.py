"""Which part of --memory each step of preprocess may take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Bounds(Protocol):
    """What bounds a command that writes a dataset: ``memory`` in bytes, and the splits there will be."""

    @property
    def memory(self) -> int: ...

    @property
    def splits(self) -> Sequence[str]: ...


def sort_memory(options: Bounds) -> int:
    """Return the bytes for records that are being sorted. Ids of keys and blocks of the spool come on top."""
    return options.memory // 2


def pass_memory(options: Bounds) -> int:
    """Return the bytes for placing features, for merging edges, or for a partition's neighbour lists."""
    return options.memory * 3 // 4


def column_memory(options: Bounds) -> int:
    """Return the bytes for columns that wait to be written: edges of all splits, or neighbour lists."""
    return options.memory // 8


def split_memory(options: Bounds) -> int:
    """Return the part of `column_memory` for the edges of one split."""
    return column_memory(options) // len(options.splits)
