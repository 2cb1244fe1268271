"""Edges that are kept in memory, where they are few.

A step of a small graph trains few edges of each of its buckets, and a ranking looks for the known answers of each partition in a
row and a column of them. So many small reads take up to a tenth of the time of training, and more of an evaluation's. All edges
of such a graph are little memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.graph.edge_source import EdgeSource
from marius_lite.graph.edges import CARRIED, COLUMNS, EDGES_AT_ONCE, EdgePiece

Floats = npt.NDArray[np.float32]
Column = npt.NDArray[np.uint32]


class KeptEdges:
    """All ``edges`` of a split, in memory from the first time that any of them are read. It is an `EdgeSource` too.

    ``edges`` must give buckets row after row, which links that are turned (`search.linked.AsLinks`) do not. ``weighed``: whether
    their weights are kept too.
    """

    def __init__(self, edges: EdgeSource, weighed: bool = False):
        self.counts, self.total, self.partitioning = edges.counts, edges.total, edges.partitioning
        self._edges, self._names = edges, (*COLUMNS, "weight") if weighed else COLUMNS
        self._ends = np.cumsum(self.counts.reshape(-1))

    @cached_property
    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        """All edges, bucket after bucket."""
        columns: dict[str, npt.NDArray[Any]] = {name: np.empty(self.total, CARRIED.get(name, np.uint32)) for name in self._names}
        every, at = range(len(self.counts)), 0
        for piece in self._edges.block(every, every, EDGES_AT_ONCE, self._names):
            stop = at + len(piece.columns[0])
            for out, values in zip(columns.values(), piece.columns, strict=True):
                out[at:stop] = values
            at = stop
        return columns

    def read_into(
        self, buckets: Iterable[tuple[int, int]], src: Column, dst: Column, rel: Column, weight: Floats | None = None
    ) -> int:
        """Copy buckets into the given arrays, one after the other. Returns the number of edges. See `EdgeBuckets.read_into`."""
        at, size, outs = 0, len(self.counts), (src, dst, rel, *(() if weight is None else (weight,)))
        for i, j in buckets:
            stop = int(self._ends[i * size + j])
            start = stop - int(self.counts[i, j])
            after = at + stop - start
            for out, column in zip(outs, self._columns.values()):
                out[at:after] = column[start:stop]
            at = after
        return at

    def block(self, rows: range, columns: range, edges: int, names: Sequence[str]) -> Iterator[EdgePiece]:
        """Yield copies of the columns ``names`` of these buckets, row after row, ``edges`` at a time. See `EdgeBuckets.block`.

        A bucket stands once in a piece, with the edges of all its segments.
        """
        p = len(self.counts)
        buckets = np.add.outer(np.arange(rows.start, rows.stop) * p, np.arange(columns.start, columns.stop)).reshape(-1)
        buckets = buckets[self.counts.reshape(-1)[buckets] > 0]
        ends = np.cumsum(self.counts.reshape(-1)[buckets])
        for low in range(0, int(ends[-1]) if len(ends) else 0, edges):
            high = min(low + edges, int(ends[-1]))
            first, last = np.searchsorted(ends, [low, high - 1], side="right").tolist()
            part = slice(first, last + 1)
            stops = np.minimum(ends[part], high) - low
            shifts = self._ends[buckets[part]] - ends[part] + low  # from a place in the piece to one among all edges
            places = np.arange(high - low) + np.repeat(shifts, np.diff(stops, prepend=0))
            yield EdgePiece(buckets[part], stops, [self._columns[name][places] for name in names])
