"""The in-edge lists of a graph that is small enough to be looked at as a whole, and what a hop over them makes of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.graph.adjacency import as_factors, sums_by_list
from marius_lite.graph.dataset import Dataset

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
UnitOf = Callable[[Dataset], float | None]
"""Finds the weight of an edge that counts as one neighbour; None: all count alike."""
AT_ONCE = 100_000
"""Edges whose sources' rows are gathered at a time."""


@dataclass(frozen=True)
class WholeLists:
    """In-edges: those of node t come from sources[indptr[t]:indptr[t + 1]]. ``rel``: their relations, where there are several.
    ``factors``: what each counts; None where all count alike."""

    indptr: Ints
    sources: npt.NDArray[Any]
    rel: npt.NDArray[Any] | None = None
    factors: Floats | None = None

    def of_relation(self, relation: int) -> WholeLists:
        """Return the lists with the edges of one relation alone, which all count alike."""
        if self.rel is None:
            return WholeLists(self.indptr, self.sources)
        kept = self.rel == relation
        before = np.concatenate([[0], np.cumsum(kept)])
        return WholeLists(before[self.indptr], self.sources[kept])

    def facing(self, directions: str) -> WholeLists:
        """Return the lists of what edges come from (in), of what they lead to (out), or of both, without relations."""
        if directions == "in":
            return self
        nodes, both = len(self.indptr) - 1, directions == "both"
        targets = np.repeat(np.arange(nodes, dtype=self.sources.dtype), np.diff(self.indptr))
        ends, others = (
            (np.concatenate(pair) if both else pair[0]) for pair in ((self.sources, targets), (targets, self.sources))
        )
        order = np.argsort(ends, kind="stable")
        counts = np.bincount(ends, minlength=nodes)
        factors = None if self.factors is None else np.tile(self.factors, 1 + both)[order]
        return WholeLists(np.concatenate([[0], np.cumsum(counts)]), others[order], factors=factors)

    def means(self, rows: Floats) -> Floats:
        out: Floats = np.zeros_like(rows)
        for low, high, sums in self._sums(rows):
            out[low:high] = sums
        counts = self.counts()
        out /= np.where(counts > 0, counts, 1).astype(np.float32)[:, None]
        return out

    def counts(self) -> npt.NDArray[Any]:
        """Return what the edges of each node count together."""
        return np.diff(self.indptr) if self.factors is None else sums_by_list(self.indptr, self.factors)

    def mixed(self, rows: Floats) -> Floats:
        """Return the rows after a hop of GCN: each node has an edge to itself, edges weigh by the degrees of both ends."""
        roots: Floats = (1 / np.sqrt(self.counts() + 1)).astype(np.float32)[:, None]
        rows = rows * roots
        for low, high, sums in self._sums(rows.copy()):
            rows[low:high] += sums
        rows *= roots
        return rows

    def _sums(self, rows: Floats) -> Iterator[tuple[int, int, Floats]]:
        """Yield (first node, node after the last, sums of the rows of their neighbours)."""
        low, nodes = 0, len(self.indptr) - 1
        while low < nodes:
            most = int(np.searchsorted(self.indptr, self.indptr[low] + AT_ONCE, side="right")) - 1
            high = min(nodes, max(low + 1, most))
            bounds = self.indptr[low : high + 1] - self.indptr[low]
            sums = np.zeros((high - low, rows.shape[1]), np.float32)
            linked = np.diff(bounds) > 0
            if linked.any():
                edges = slice(self.indptr[low], self.indptr[high])
                gathered = rows[self.sources[edges]]
                if self.factors is not None:
                    gathered *= self.factors[edges, None]
                sums[linked] = np.add.reduceat(gathered, bounds[:-1][linked], axis=0)
            yield low, high, sums
            low = high


def whole_lists(dataset: Dataset, unit: float | None = None) -> WholeLists:
    """Read the lists of a dataset that has some. ``unit``: the weight of an edge that counts as one; None: all count alike."""
    assert dataset.adjacency is not None
    parts = [dataset.adjacency.read(k, weights=unit is not None) for k in range(dataset.partitioning.partitions)]
    indptr = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.indptr) for part in parts]))])
    rel = None if parts[0].rel is None else np.concatenate([part.rel for part in parts if part.rel is not None])
    weights = [part.weights for part in parts if part.weights is not None]
    factors = as_factors(np.concatenate(weights), unit) if unit else None
    return WholeLists(indptr, np.concatenate([part.sources for part in parts]), rel, factors)
