"""Keep the edges in memory that filter a ranking, where they are few.

Each partition's known answers are in a row and a column of the buckets. So a small graph's edges would be read in thousands of
small requests for each block of questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from marius_lite.evaluate.edges import EdgeSource
from marius_lite.graph.edges import COLUMNS, EDGES_AT_ONCE, EdgePiece

BYTES_PER_EDGE = 12
"""Three columns of uint32."""


class KeptBuckets:
    """All ``edges`` of a split, in memory from the first time that any of them are read. See `EdgeSource`."""

    def __init__(self, edges: EdgeSource):
        self.partitioning, self.counts, self.total = edges.partitioning, edges.counts, edges.total
        self._edges = edges
        self._begins = np.concatenate([[0], np.cumsum(self.counts.reshape(-1))])

    @cached_property
    def _columns(self) -> dict[str, npt.NDArray[np.uint32]]:
        """All edges, bucket after bucket."""
        columns, every, at = np.empty((len(COLUMNS), self.total), np.uint32), range(self.partitioning.partitions), 0
        for piece in self._edges.block(every, every, EDGES_AT_ONCE, COLUMNS):
            stop = at + len(piece.columns[0])
            columns[:, at:stop] = piece.columns
            at = stop
        return dict(zip(COLUMNS, columns))

    def block(self, rows: range, columns: range, edges: int, names: Sequence[str]) -> Iterator[EdgePiece]:
        """Yield copies of the columns ``names`` of these buckets, row after row, ``edges`` at a time. See `EdgeBuckets.block`."""
        p = self.partitioning.partitions
        buckets = np.add.outer(np.arange(rows.start, rows.stop) * p, np.arange(columns.start, columns.stop)).reshape(-1)
        buckets = buckets[self.counts.reshape(-1)[buckets] > 0]
        ends = np.cumsum(self.counts.reshape(-1)[buckets])
        for low in range(0, int(ends[-1]) if len(ends) else 0, edges):
            high = min(low + edges, int(ends[-1]))
            first, last = np.searchsorted(ends, [low, high - 1], side="right").tolist()
            part = slice(first, last + 1)
            stops = np.minimum(ends[part], high) - low
            shifts = self._begins[buckets[part] + 1] - ends[part] + low  # from a place in the piece to one among all edges
            places = np.arange(high - low) + np.repeat(shifts, np.diff(stops, prepend=0))
            yield EdgePiece(buckets[part], stops, [self._columns[name][places] for name in names])


def kept(splits: Sequence[EdgeSource], budget: int) -> tuple[Sequence[EdgeSource], int]:
    """Return the splits with their edges kept in memory, and the bytes of that, where all of them fit ``budget`` bytes.

    Else return the splits as they are, and 0.
    """
    size = sum(split.total for split in splits) * BYTES_PER_EDGE
    return ([KeptBuckets(split) for split in splits], size) if size <= budget else (splits, 0)
