"""In-edge lists that partitions share while batches are timed, so that few are read."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from marius_lite.graph.adjacency import Adjacency, PartitionLists

BORROWED = 64 << 20
"""Bytes of the lists that are read, at most, unless those of one partition are more."""


class BorrowedLists(Adjacency):
    """The lists ``read`` from another object, of which all partitions share those of the first ones.

    A node has the in-edges of another one. So nodes draw as many neighbours as they do on average, all over the graph. (Where
    partitions follow communities they draw from few, and more of them the same ones.)
    """

    def __init__(self, read: Adjacency, weights: bool):
        super().__init__(read.folder, read.partitioning, 1 + read.has_relations, read.has_weights, as_written=True)
        self.unit, self._read_lists, self._shared = read.unit, read, dict[int, PartitionLists]()
        each = max(1, *(read.read_bytes(k, weights) for k in range(read.partitioning.partitions)))
        self._count = max(1, BORROWED // each)

    def read(self, k: int, weights: bool = False, own_pages: bool = False, *, relations: bool = True) -> PartitionLists:
        at = k % self._count
        if at not in self._shared:
            self._shared[at] = self._read_lists.read(at, weights)
        lists, size = self._shared[at], self.partitioning.size(k)
        if len(lists.indptr) == size + 1:
            return lists
        edges = int(lists.indptr[size])  # the last partition has fewer nodes
        beside = {each.name: getattr(lists, each.name) for each in fields(lists)[1:]}
        cut: dict[str, Any] = {name: None if array is None else array[:edges] for name, array in beside.items()}
        cut["coming"] = None if lists.coming is None else lists.coming[:size]
        return PartitionLists(lists.indptr[: size + 1], **cut)
