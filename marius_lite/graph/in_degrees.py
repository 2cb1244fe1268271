"""Count the neighbours of nodes, without self-loops, or what they count together."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from marius_lite.graph.adjacency import sums_by_list

Counts = npt.NDArray[np.float32]


class InLists(Protocol):
    """The part of `PartitionLists` that in-degrees need."""

    @property
    def indptr(self) -> npt.NDArray[np.int64]: ...
    @property
    def sources(self) -> npt.NDArray[Any]: ...
    @property
    def factors(self) -> npt.NDArray[np.float32] | None: ...
    @property
    def coming(self) -> Counts | None: ...


def in_degrees(lists: InLists, first: int) -> Counts:
    """In-degrees of a partition's nodes, without self-loops, float32 (n,). ``first``: the node id of the first one.

    Where edges have factors, these are summed instead of counted. Where lists tell how many are ``coming`` in, float32 (n, 2):
    these, and those of edges that lead away.
    """
    degrees = _in_degrees(lists, first)
    return degrees if lists.coming is None else np.stack([lists.coming, np.maximum(degrees - lists.coming, 0)], 1)


def _in_degrees(lists: InLists, first: int) -> Counts:
    counts = np.diff(lists.indptr)
    loops = lists.sources == np.repeat(np.arange(first, first + len(counts)), counts)
    if lists.factors is not None:
        return sums_by_list(lists.indptr, np.where(loops, np.float32(0), lists.factors)).astype(np.float32)
    own = np.flatnonzero(loops)
    own_counts = np.bincount(np.searchsorted(lists.indptr, own, side="right") - 1, minlength=len(counts))
    return (counts - own_counts).astype(np.float32)
