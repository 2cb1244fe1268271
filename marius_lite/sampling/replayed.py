"""Training edges of which those that an older version of the dataset had are trained in part: others of them in each epoch."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.graph.edges import EdgeBuckets
from marius_lite.seeds import generator_for

MIXERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9))
Column = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float32]
Marks = npt.NDArray[np.bool_]


class ReplayedEdges:
    """The training ``edges`` of a version: all that are new, and of those that are also ``before``, in an older version, a
    ``share`` of each bucket, drawn by ``seed`` for each epoch.

    An edge that is stored twice, of which the older version had one, counts as old twice. Which edges are old is found by reading
    both versions' bucket: once for the `counts`, then for each epoch.
    """

    def __init__(self, edges: EdgeBuckets, before: EdgeBuckets, share: float, seed: int):
        self.partitioning = edges.partitioning
        self._edges, self._before, self._share, self._seed = edges, before, share, seed

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many edges of each bucket an epoch trains, (p, p). All edges are read for it."""
        counts = self._edges.counts.copy()
        for i, j in np.argwhere(counts).tolist():
            old = int(self._is_old(i, j, *self._edges.read(i, j)).sum())
            counts[i, j] += self._replayed(old) - old
        return counts

    @property
    def total(self) -> int:
        """How many edges an epoch trains."""
        return int(self.counts.sum())

    def read_into(
        self,
        buckets: Iterable[tuple[int, int]],
        src: Column,
        dst: Column,
        rel: Column,
        epoch: int = 0,
        weight: Floats | None = None,
    ) -> int:
        """Read what ``epoch`` trains of buckets into the given arrays, one after the other. Returns the number of edges read.

        ``weight``: where weights are read to, where they are.
        """
        at, outs = 0, [src, dst, rel, *([] if weight is None else [weight])]
        for i, j in buckets:
            columns: list[npt.NDArray[Any]] = [np.empty(int(self._edges.counts[i, j]), out.dtype) for out in outs]
            self._edges.read_into([(i, j)], *columns)
            old = np.flatnonzero(self._is_old(i, j, *columns[:3]))
            left_out = generator_for(self._seed, "replay", epoch, i, j).permutation(old)[self._replayed(len(old)) :]
            kept = np.ones(len(columns[0]), bool)
            kept[left_out] = False
            stop = at + int(kept.sum())
            for out, column in zip(outs, columns, strict=True):
                out[at:stop] = column[kept]
            at = stop
        return at

    def _replayed(self, old: int) -> int:
        return round(self._share * old)

    def _is_old(self, i: int, j: int, src: Column, dst: Column, rel: Column) -> Marks:
        """Return which edges of bucket (i, j) are also in the older version."""
        if max(i, j) >= self._before.partitioning.partitions:
            return np.zeros(len(src), bool)
        return np.isin(_numbers(src, dst, rel), _numbers(*self._before.read(i, j)))


def _numbers(*columns: Column) -> npt.NDArray[Any]:
    """Return a number of 64 bits for each edge; those of different edges differ, but for one in 2^64 pairs of them."""
    found = np.zeros(len(columns[0]), np.uint64)
    for values, mixer in zip(columns, MIXERS):
        found = (found ^ values.astype(np.uint64)) * mixer
        found ^= found >> np.uint64(29)
    return found
