"""Training edges that are kept in memory, where they are few.

A step of a small graph trains few edges of each of its buckets. So its many small reads take up to a tenth of the time that
training takes. All edges of such a graph are little memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from marius_lite.graph.edges import EdgeBuckets

Column = npt.NDArray[np.uint32]


class KeptEdges:
    """All ``edges`` of a split, in memory from the first time that any of them are read."""

    def __init__(self, edges: EdgeBuckets):
        self.counts, self.total = edges.counts, edges.total
        self._edges = edges
        self._ends = np.cumsum(self.counts.reshape(-1)).tolist()

    @cached_property
    def _columns(self) -> npt.NDArray[np.uint32]:
        """All edges, bucket after bucket: (3, edges)."""
        columns, each = np.empty((3, self.total), np.uint32), range(len(self.counts))
        self._edges.read_into(((i, j) for i in each for j in each), *columns)
        return columns

    def read_into(self, buckets: Iterable[tuple[int, int]], src: Column, dst: Column, rel: Column) -> int:
        """Copy buckets into the given arrays, one after the other. Returns the number of edges. See `EdgeBuckets.read_into`."""
        at, size = 0, len(self.counts)
        for i, j in buckets:
            stop = self._ends[i * size + j]
            start = stop - int(self.counts[i, j])
            after = at + stop - start
            for out, column in zip((src, dst, rel), self._columns):
                out[at:after] = column[start:stop]
            at = after
        return at
