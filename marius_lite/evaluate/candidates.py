"""Choose which nodes compete with the true answer: all, or a sample of all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from marius_lite.evaluate.sampling import distinct
from marius_lite.graph.partitioning import Partitioning
from marius_lite.seeds import generator_for

Positions = npt.NDArray[np.int64]


class Candidates:
    """The candidates: all nodes (``count`` None), or ``count`` nodes drawn without replacement, the same for every query.

    The candidates of a partition are numbered 0, 1, ... by ascending node id. These numbers are their *positions*. ``label``
    names the choice in results. A sample as large as the graph is called all.
    """

    def __init__(self, partitioning: Partitioning, count: int | None = None, seed: int = 0):
        self._partitioning = partitioning
        self.label = "all"
        self._chosen: Positions | None = None
        if count is not None and count < partitioning.nodes:
            self.label = f"sampled({count})"
            self._chosen = distinct(partitioning.nodes, count, generator_for(seed, "evaluate/candidates"))
            first_ids = np.arange(partitioning.partitions + 1) * partitioning.rows
            self._starts = np.searchsorted(self._chosen, first_ids)

    def count(self, k: int) -> int:
        """Return how many candidates partition k has."""
        if self._chosen is None:
            return self._partitioning.size(k)
        return int(self._starts[k + 1] - self._starts[k])

    def partition_size(self, k: int) -> int:
        """Return how many nodes partition k has, candidates or not."""
        return self._partitioning.size(k)

    def first_id(self, k: int) -> int:
        """Return the id of the first node of partition k."""
        return k * self._partitioning.rows

    def tiles(self, k: int, size: int) -> Iterator[tuple[int, int]]:
        """Yield positions [low, high) that cover partition k's candidates, ``size`` at a time."""
        for low in range(0, self.count(k), size):
            yield low, min(low + size, self.count(k))

    def offsets(self, k: int, start: int, stop: int) -> slice | Positions:
        """Return the offsets inside partition k of the candidates at positions [start, stop): an index for its rows."""
        if self._chosen is None:
            return slice(start, stop)
        return self._inside(k)[start:stop] - k * self._partitioning.rows

    def positions(self, k: int, offsets: Positions) -> Positions:
        """Return the positions of the nodes at these offsets of partition k, -1 for those that are no candidates."""
        if self._chosen is None:
            return offsets
        inside = self._inside(k)
        if not len(inside):
            return np.full(len(offsets), -1, np.int64)
        ids = offsets + k * self._partitioning.rows
        found = np.minimum(np.searchsorted(inside, ids), len(inside) - 1)
        return np.where(inside[found] == ids, found, -1)

    def _inside(self, k: int) -> Positions:
        """Return the node ids of partition k's candidates, ascending."""
        assert self._chosen is not None
        return self._chosen[self._starts[k] : self._starts[k + 1]]
