"""Compute which partition has which node ids. This is arithmetic; no array grows with the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class Partitioning:
    """``nodes`` ids in ``partitions`` ranges of ``rows`` ids, which is ceil(nodes / partitions) unless it is given.

    Partition k has the ids [k * rows, (k + 1) * rows), and the last one those that are left. No partition is empty: where the
    wanted number would leave one empty, ``partitions`` becomes ceil(nodes / rows). Raises ValueError for numbers below 1.
    """

    def __init__(self, nodes: int, partitions: int, rows: int | None = None):
        if nodes < 1 or partitions < 1:
            raise ValueError(f"{nodes} nodes in {partitions} partitions: both must be at least 1")
        self.nodes = nodes
        self.rows = rows or -(-nodes // partitions)
        self.partitions = -(-nodes // self.rows)

    def grown(self, nodes: int) -> Partitioning:
        """Return the partitions of ``nodes`` ids, at least as many as now: the last one fills up, then others follow."""
        return Partitioning(nodes, self.partitions, self.rows)

    def range(self, k: int) -> range:
        """Return the node ids of partition k. Raises ValueError for a partition that does not exist."""
        if not 0 <= k < self.partitions:
            raise ValueError(f"partition {k}: there are {self.partitions}")
        return range(k * self.rows, min((k + 1) * self.rows, self.nodes))

    def size(self, k: int) -> int:
        """Return how many node ids partition k has."""
        return len(self.range(k))

    def partition_of(self, ids: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return the partition of each id, int64, in the same shape."""
        return (np.asarray(ids) // self.rows).astype(np.int64)
