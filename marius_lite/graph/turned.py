"""In-edge lists of training edges that are turned round, alone or beside the edges as they are (`model.directions`).

Nothing of it is stored. The edges that leave partition k are row k of the buckets, and inside a bucket they are in order of their
destinations. So one pass over them makes lists whose neighbours ascend, as one pass over a column does.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from marius_lite.graph.adjacency import DTYPES, Adjacency, Lists, PartitionLists, lists_of_all, merged
from marius_lite.graph.edges import COLUMNS, EDGES_AT_ONCE, EdgeBuckets
from marius_lite.graph.in_degrees import in_degrees


class TurnedLists(Adjacency):
    """The lists of what nodes' out-edges lead to, and, with ``beside``, of what their in-edges come from as well.

    ``stored``: the in-edge lists of the same training ``edges``. ``relations``: where turned edges are relations of their own,
    how many there are without them: an edge of relation r has relation ``relations`` + r once it is turned (Schlichtkrull et al.,
    ESWC 2018). 0: it keeps its relation. ``counted``: whether lists tell how many neighbours are at one end, see
    `PartitionLists.coming`.
    """

    def __init__(self, stored: Adjacency, edges: EdgeBuckets, beside: bool, relations: int = 0, counted: bool = False):
        named = 1 + bool(stored.has_relations or relations)
        super().__init__(stored.folder, stored.partitioning, named, stored.has_weights, as_written=True)
        self.unit = stored.unit
        self._in, self._edges, self._beside, self._apart, self._counted = stored, edges, beside, relations, counted and beside

    def weighing(self, unit: float) -> Adjacency:
        return TurnedLists(self._in.weighing(unit), self._edges, self._beside, self._apart, self._counted)

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(self._leaving + self._coming)]).astype(np.int64)

    @property
    def held(self) -> npt.NDArray[np.int64]:
        return np.diff(self.starts)

    @cached_property
    def _leaving(self) -> npt.NDArray[np.int64]:
        """How many edges leave each partition, int64 (p,)."""
        counts: npt.NDArray[np.int64] = self._edges.counts.sum(1)
        return counts

    @property
    def _coming(self) -> npt.NDArray[np.int64]:
        """How many edges as they are each partition's lists have, int64 (p,)."""
        return np.diff(self._in.starts) if self._beside else np.zeros(self.partitioning.partitions, np.int64)

    def merging_bytes(self, weights: bool = False) -> int:
        bounds, edge = 8 * (self.partitioning.rows + 1), self.edge_bytes(weights)
        columns = 4 * (len(COLUMNS) + (weights or self.weighs))
        listing = self._leaving * (2 * edge + columns) + EDGES_AT_ONCE * columns + 4 * bounds
        if self._beside:
            reading = (self._leaving + self._in.held) * edge + self._in.merging_bytes(weights) + 3 * bounds
            listing = np.maximum(listing, np.maximum(reading, 2 * self.held * edge + 3 * bounds))
        return int((listing - self.held * edge).max(initial=0))

    def read_bytes(self, k: int, weights: bool = False) -> int:
        columns = 4 * (len(COLUMNS) + (weights or self.weighs))
        return int(self._leaving[k]) * columns + (self._in.read_bytes(k, weights) if self._beside else 0)

    def read(self, k: int, weights: bool = False, own_pages: bool = False, *, relations: bool = True) -> PartitionLists:
        named = relations and self.has_relations and not self.weighs
        beside = [*(["rel"] if named else []), *(["weight"] if weights or self.weighs else [])]
        found = self._turned(k, beside)
        if named:
            found["rel"] += np.uint32(self._apart)
        if self.weighs:
            self._factors(k, found["weight"])
        coming = None
        if self._beside or own_pages:
            as_they_are = self._as_they_are(k, weights, beside) if self._beside else _none_like(found)
            coming = self._coming_in(k, as_they_are) if self._counted else None
            total = len(found["sources"]) + len(as_they_are["sources"])
            lengths = {name: len(found["indptr"]) if name == "indptr" else total for name in found}
            found = merged(as_they_are, found, {name: self._empty(name, 0, n, own_pages) for name, n in lengths.items()})
        weight = found.get("weight")
        factors, weight = (weight, None) if self.weighs else (None, weight)
        return PartitionLists(found["indptr"], found["sources"], found.get("rel"), weight, factors, coming)

    def _coming_in(self, k: int, stored: Lists) -> npt.NDArray[np.float32]:
        factors = stored["weight"] if self.weighs else None
        return in_degrees(
            PartitionLists(stored["indptr"], stored["sources"], None, factors=factors), self.partitioning.range(k).start
        )

    def _turned(self, k: int, beside: list[str]) -> Lists:
        """Return the lists of partition k of turned edges alone, with these arrays beside neighbours."""
        dtypes = {"sources": self._dtype("sources")} | {name: np.dtype(DTYPES[name]) for name in beside}
        return lists_of_all(self._edges.segments, self.partitioning, k, dtypes, turned=True)

    def _as_they_are(self, k: int, weights: bool, beside: list[str]) -> Lists:
        """Return the stored lists of partition k, with these arrays beside neighbours."""
        lists = self._in.read(k, weights, relations="rel" in beside)
        found: Lists = {"indptr": lists.indptr, "sources": lists.sources}
        if "rel" in beside:
            found["rel"] = np.zeros(len(lists.sources), np.uint32) if lists.rel is None else lists.rel
        if "weight" in beside:
            weight = lists.factors if self.weighs else lists.weights
            assert weight is not None
            found["weight"] = weight
        return found


def _none_like(lists: Lists) -> Lists:
    """Return lists of the same nodes that are empty."""
    return {name: np.zeros_like(v) if name == "indptr" else np.empty(0, v.dtype) for name, v in lists.items()}
