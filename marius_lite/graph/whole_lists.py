"""Lists of neighbours in memory, of a graph that is small enough or of a part of one, and what a hop over them makes of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import neighbour_sum
from marius_lite.graph.adjacency import as_factors, sums_by_list
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.graded import GradedLists

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
MOST_NODES, MOST_EDGES = 50_000, 4_000_000
"""Nodes and edges of small graphs, at most."""
WIDTHS = (256, 128, 64, 32)
"""Columns that rows may have: of larger graphs fewer."""
SHARE = 0.25
"""The share of the memory that may be taken."""
MOST_STORED = 4 << 30
"""Bytes of features, at most. They are read up to three times."""
MOST_MOVED = 1 << 31
"""Edges times columns, at most. A hop then takes a second or two."""
UnitOf = Callable[[Dataset], float | None]
"""Finds the weight of an edge that counts as one neighbour; None: all count alike."""


@dataclass(frozen=True)
class WholeLists:
    """In-edges: those of node t come from sources[indptr[t]:indptr[t + 1]], int32. ``rel``: their relations, where there are
    several. ``factors``: what each counts; None where all count alike. ``degrees``: what the edges of each node count together,
    where the lists do not have all of them; None: as many as they have."""

    indptr: Ints
    sources: npt.NDArray[np.int32]
    rel: npt.NDArray[Any] | None = None
    factors: Floats | None = None
    degrees: npt.NDArray[np.float64] | None = None

    def of_relation(self, relation: int) -> WholeLists:
        """Return the lists with the edges of one relation alone, which all count alike."""
        if self.rel is None:
            return WholeLists(self.indptr, self.sources)
        kept = self.rel == relation
        before = np.concatenate([[0], np.cumsum(kept)])
        return WholeLists(before[self.indptr], self.sources[kept])

    def without_loops(self) -> WholeLists:
        """Return the lists without edges from a node to itself."""
        targets = np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int32), np.diff(self.indptr))
        kept = self.sources != targets
        if kept.all():
            return self
        before = np.concatenate([[0], np.cumsum(kept)])
        rel, factors = (None if each is None else each[kept] for each in (self.rel, self.factors))
        return WholeLists(before[self.indptr], self.sources[kept], rel, factors)

    def drawn(self, most: int) -> WholeLists:
        """Return the lists with ``most`` edges of each node, or all of its edges where it has no more: the same at each call."""
        counts = np.diff(self.indptr)
        order = np.lexsort((np.random.default_rng(0).random(len(self.sources)), np.repeat(np.arange(len(counts)), counts)))
        places = np.arange(len(order)) - np.repeat(self.indptr[:-1], counts)
        kept = np.sort(order[places < most])
        rel, factors = (None if each is None else each[kept] for each in (self.rel, self.factors))
        return WholeLists(np.concatenate([[0], np.cumsum(np.minimum(counts, most))]), self.sources[kept], rel, factors)

    def facing(self, directions: str) -> WholeLists:
        """Return the lists of what edges come from (in), of what they lead to (out), or of both. The lists have all edges."""
        if directions == "in":
            return self
        nodes, both = len(self.indptr) - 1, directions == "both"
        targets = np.repeat(np.arange(nodes, dtype=np.int32), np.diff(self.indptr))
        ends, others = (
            (np.concatenate(pair) if both else pair[0]) for pair in ((self.sources, targets), (targets, self.sources))
        )
        order = np.argsort(ends, kind="stable")
        counts = np.bincount(ends, minlength=nodes)
        rel, factors = (None if each is None else np.tile(each, 1 + both)[order] for each in (self.rel, self.factors))
        return WholeLists(np.concatenate([[0], np.cumsum(counts)]), others[order], rel, factors)

    def means(self, rows: Floats) -> Floats:
        """Return the mean of the neighbours' rows for each node; 0 where it has none."""
        counts = self.counts()
        return self._sums(rows) / np.where(counts > 0, counts, 1).astype(np.float32)[:, None]

    def counts(self) -> npt.NDArray[Any]:
        """Return what the edges of each node count together."""
        if self.degrees is not None:
            return self.degrees
        return np.diff(self.indptr) if self.factors is None else sums_by_list(self.indptr, self.factors)

    def mixed(self, rows: Floats) -> Floats:
        """Return the rows after a hop of GCN: each node has an edge to itself, edges weigh by the degrees of both ends."""
        roots: Floats = (1 / np.sqrt(self.counts() + 1)).astype(np.float32)[:, None]
        out = self._sums(rows * roots, own=np.ones(len(rows), np.float32))
        out *= roots
        return out

    def _sums(self, rows: Floats, own: Floats | None = None) -> Floats:
        """Return the sum of the neighbours' rows for each node, and of ``own`` times its own."""
        out = np.empty_like(rows)
        neighbour_sum(rows, self.indptr, self.sources, out, self.factors, own=own)
        return out


def degree_columns(degrees: npt.NDArray[Any], unit: float) -> Floats:
    """Return what `model.degree_unit` shows of nodes with so many neighbours, and its square: (nodes, 2)."""
    seen = np.log((1 + degrees) / (1 + unit)).astype(np.float32)[:, None]
    return np.concatenate([seen, seen**2], 1)


def is_small(dataset: Dataset) -> bool:
    """Return whether a graph may be looked at as a whole wherever there is memory for anything."""
    return dataset.manifest.nodes <= MOST_NODES and dataset.manifest.edges["train"] <= MOST_EDGES


def whole_width(dataset: Dataset, memory: int) -> int:
    """Return how many columns, of WIDTHS, rows of a graph may have that is looked at as a whole, in a part of the ``memory``: 60
    bytes an edge and 24 a number. 0: the graph is too large."""
    nodes, edges = dataset.manifest.nodes, dataset.manifest.edges["train"]
    if is_small(dataset):
        return WIDTHS[0]
    if dataset.features is not None and dataset.features.stride * nodes > MOST_STORED:
        return 0
    fits = (w for w in WIDTHS if 60 * edges + 24 * w * nodes <= SHARE * memory and edges * w <= MOST_MOVED)
    return next(fits, 0)


def whole_lists(dataset: Dataset, unit: float | None = None, bounds: Sequence[float] = ()) -> WholeLists:
    """Read the lists of a dataset that has some. ``unit``: the weight of an edge that counts as one; None: all count alike.
    ``bounds``: of ranges of weights, whose edges are of other relations; see `GradedLists`."""
    lists = dataset.adjacency
    assert lists is not None
    lists = GradedLists(lists, bounds) if bounds else lists
    parts = [lists.read(k, weights=unit is not None) for k in range(dataset.partitioning.partitions)]
    indptr = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.indptr) for part in parts]))])
    rel = None if parts[0].rel is None else np.concatenate([part.rel for part in parts if part.rel is not None])
    weights = [part.weights for part in parts if part.weights is not None]
    factors = as_factors(np.concatenate(weights), unit) if unit else None
    return WholeLists(indptr, np.concatenate([part.sources.astype(np.int32) for part in parts]), rel, factors)
