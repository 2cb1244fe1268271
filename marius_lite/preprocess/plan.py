"""What of its memory each part of preprocess may take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.edges.buckets import count_dtype, node_bytes


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


def degrees_counted(partitioning: Partitioning, options: Bounds, edges: int) -> type[np.unsignedinteger[Any]] | None:
    """The dtype that counts the degrees of every node while ``edges`` are written, None where an 8th of the memory does not hold
    them."""
    dtype = count_dtype(edges)
    return dtype if partitioning.nodes * node_bytes(dtype) <= options.memory // 8 else None
