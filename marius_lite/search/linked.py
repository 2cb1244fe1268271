"""Edges as links between nodes, whatever their relation and direction: for answers that leave out the nodes that are linked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from marius_lite.graph.edge_source import EdgeSource
from marius_lite.graph.edges import EdgePiece


class AsLinks:
    """The edges of ``edges`` with relation 0 for every relation; with ``turned`` from their destinations to their sources."""

    def __init__(self, edges: EdgeSource, turned: bool):
        self._edges, self._turned = edges, turned
        self.partitioning = edges.partitioning

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        return self._edges.counts.T if self._turned else self._edges.counts

    @property
    def total(self) -> int:
        return self._edges.total

    def block(self, rows: range, columns: range, edges: int, names: Sequence[str]) -> Iterator[EdgePiece]:
        """Read buckets as `EdgeBuckets.block` does, those of a turned split column after column."""
        p = self.partitioning.partitions
        for piece in self._edges.block(*((columns, rows) if self._turned else (rows, columns)), edges, names):
            src, dst, rel = piece.columns
            if not self._turned:
                yield EdgePiece(piece.buckets, piece.ends, [src, dst, np.zeros_like(rel)])
                continue
            i, j = np.divmod(piece.buckets, p)
            yield EdgePiece(j * p + i, piece.ends, [dst, src, np.zeros_like(rel)])


def links(splits: Sequence[EdgeSource]) -> list[AsLinks]:
    """Return the links that the edges of ``splits`` are, in both directions."""
    return [AsLinks(edges, turned) for edges in splits for turned in (False, True)]
