"""In-edge lists whose edges are of another relation for each range of their weights (`model.weight_bounds`): ratings, say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.graph.adjacency import Adjacency, PartitionLists
from marius_lite.graph.dataset import Dataset

MOST_GRADES = 8
"""Different weights that become ranges of their own, at most."""
MOST_WEIGHTS = 1 << 20
"""Weights that are looked at to choose ranges."""


class GradedLists(Adjacency):
    """The lists ``read`` from another object, where an edge of relation r and grade g has relation r * grades + g.

    ``bounds``: ascending. The grade of an edge is how many of them are no larger than its weight, and ``grades`` is one more than
    there are bounds. The lists it reads have to have weights.
    """

    def __init__(self, read: Adjacency, bounds: Sequence[float]):
        super().__init__(read.folder, read.partitioning, 2, read.has_weights, as_written=True)
        self._read_lists, self._bounds = read, np.array(bounds, np.float32)

    def weighing(self, unit: float) -> Adjacency:
        raise AssertionError("edges are told apart by weights, or count by them")

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        return self._read_lists.starts

    @property
    def held(self) -> npt.NDArray[np.int64]:
        return self._read_lists.held

    def merging_bytes(self, weights: bool = False) -> int:
        beside = 8 + 4 * (not weights)  # weights that are read for this alone, and what comparing them takes
        return self._read_lists.merging_bytes(True) + beside * int(self.held.max(initial=0))

    def read_bytes(self, k: int, weights: bool = False) -> int:
        return self._read_lists.read_bytes(k, True)

    def read(self, k: int, weights: bool = False, own_pages: bool = False, *, relations: bool = True) -> PartitionLists:
        if not relations:
            return self._read_lists.read(k, weights, own_pages, relations=False)
        lists = self._read_lists.read(k, True, own_pages)
        assert lists.weights is not None
        if np.isnan(lists.weights).any():
            raise UserError(
                f"{self.folder}: the edges into partition {k} have weights that are no numbers: `model.weight_bounds` takes "
                "numbers: set it to [], or preprocess edges with such weights"
            )
        rel = self._empty("rel", 0, len(lists.sources), own_pages) if lists.rel is None else lists.rel
        if lists.rel is None:
            rel[:] = 0
        else:
            rel *= np.uint32(len(self._bounds) + 1)
        rel += np.searchsorted(self._bounds, lists.weights, side="right").astype(np.uint32)
        return replace(lists, rel=rel, weights=lists.weights if weights else None)


def ranges_of_weights(dataset: Dataset) -> list[list[float]]:
    """Return bounds of ranges that the weights of edges might be of, one list after another: between all weights that differ,
    where these are few; else so that half of the edges are in each range, or a quarter. None where edges have no weights, or all
    the same.

    Raises UserError for a damaged dataset.
    """
    lists = dataset.adjacency
    if lists is None or not lists.has_weights:
        return []
    found = [np.empty(0, np.float32)]
    for k in range(lists.partitioning.partitions):
        weights = lists.read(k, weights=True, relations=False).weights
        assert weights is not None
        found.append(weights[:: -(-int(lists.starts[-1]) // MOST_WEIGHTS) or 1].copy())
    weights = np.concatenate(found)
    different = np.unique(weights)
    if not np.isfinite(weights).all() or len(different) < 2:
        return []
    if len(different) <= MOST_GRADES:
        return [((different[1:] + different[:-1]) / 2).astype(float).tolist()]
    quantiles = (np.quantile(weights, shares).astype(np.float32) for shares in ([0.5], [0.25, 0.5, 0.75]))
    return [np.unique(np.maximum(bounds, different[1])).astype(float).tolist() for bounds in quantiles]
