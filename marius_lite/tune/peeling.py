"""Peel a graph: remove nodes until each has k edges to those that are left, which are the k-core then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.config import machine
from marius_lite.graph.edges import EDGES_AT_ONCE, EdgeBuckets

Left = npt.NDArray[np.bool_]
Peel = Callable[[Left, int], int]
"""Removes nodes from those that are left, and returns how many edges are left."""
EDGE_BYTES = 64
"""Bytes an edge while its ends are sorted in memory."""
PASSES = 20
"""Passes over the edges on disk, at most. Long chains of nodes lose one node a pass."""


def peel_of(edges: EdgeBuckets, nodes: int) -> Peel:
    """Return what peels a graph: in memory where a quarter of what is free holds the edges, else by passes over the disk."""
    if edges.total * EDGE_BYTES <= machine.available_memory() // 4:
        return InMemory(edges, nodes).peel
    return partial(peel_on_disk, edges)


class InMemory:
    """Peels with the other ends of each node's edges at hand. So each edge is looked at once, however long chains are."""

    def __init__(self, edges: EdgeBuckets, nodes: int):
        ends = np.empty((2, edges.total), np.uint32)
        at = 0
        for src, _, dst in edges_between(edges, np.ones(nodes, np.bool_)):
            ends[0, at : at + len(src)], ends[1, at : at + len(src)] = src, dst
            at += len(src)
        counts = np.bincount(ends.reshape(-1), minlength=nodes)
        self._offsets = np.concatenate([[0], np.cumsum(counts)])
        self._others = ends[::-1].reshape(-1)[np.argsort(ends.reshape(-1), kind="stable")]

    def peel(self, left: Left, k: int) -> int:
        """See `Peel`."""
        degrees = self._degrees(left)
        few = np.flatnonzero(left & (degrees < k))
        while len(few):
            left[few] = False
            ends = self._others_of(few)
            others, times = np.unique(ends[left[ends]], return_counts=True)
            degrees[others] -= times
            few = others[degrees[others] < k].astype(np.int64)
        return int(degrees[left].sum()) // 2

    def _degrees(self, left: Left) -> npt.NDArray[np.int64]:
        """Return how many edges to nodes that are left each of these has."""
        degrees = np.zeros(len(left), np.int64)
        some = np.flatnonzero(np.diff(self._offsets))
        degrees[some] = np.add.reduceat(left[self._others], self._offsets[some], dtype=np.int64)
        degrees[~left] = 0
        return degrees

    def _others_of(self, nodes: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
        first = self._offsets[nodes]
        counts = self._offsets[nodes + 1] - first
        return self._others[np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))]


def peel_on_disk(edges: EdgeBuckets, left: Left, k: int) -> int:
    """See `Peel`. After PASSES passes some nodes with fewer than ``k`` edges may be left."""
    for passes in range(PASSES):
        degrees, count = np.zeros(len(left), np.uint32), 0
        for src, _, dst in edges_between(edges, left):
            count += len(src)
            for ends in (src, dst):
                np.add.at(degrees, ends, 1)
        few = left & (degrees < k)
        if passes == PASSES - 1 or not few.any():
            break
        left[few] = False
    return count


def edges_between(edges: EdgeBuckets, left: Left, weighed: bool = False) -> Iterator[npt.NDArray[Any]]:
    """Yield the edges between the nodes that are left: blocks of node ids and relations, int64 (3, edges).

    ``weighed``: with their weights behind, all float64 then, which holds ids below 2^53: (4, edges).
    """
    size, every = edges.partitioning.rows, range(edges.partitioning.partitions)
    for piece in edges.block(every, every, EDGES_AT_ONCE, ("src", "rel", "dst", *(["weight"] if weighed else []))):
        buckets = piece.bucket_of_each()
        src, rel, dst = (column.astype(np.int64) for column in piece.columns[:3])
        src += buckets // len(every) * size
        dst += buckets % len(every) * size
        both = left[src] & left[dst]
        yield np.stack([column[both] for column in (src, rel, dst, *piece.columns[3:])])
