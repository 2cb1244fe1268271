"""Which partition holds which node ids: arithmetic only, no map the size of the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class Partitioning:
    """``nodes`` ids dealt to ``partitions`` contiguous ranges of ``rows`` = ceil(nodes / partitions) ids.

    No partition is empty: where the wish cannot be met, ``partitions`` becomes ceil(nodes / rows).
    Partition k holds ids [k * rows, (k + 1) * rows), the last one what is left.
    """

    def __init__(self, nodes: int, partitions: int):
        if nodes < 1 or partitions < 1:
            raise ValueError(f"{nodes} nodes in {partitions} partitions: both must be at least 1")
        self.nodes = nodes
        self.rows = -(-nodes // partitions)
        self.partitions = -(-nodes // self.rows)

    def range(self, k: int) -> range:
        """The node ids of partition k."""
        if not 0 <= k < self.partitions:
            raise ValueError(f"partition {k}: there are {self.partitions}")
        return range(k * self.rows, min((k + 1) * self.rows, self.nodes))

    def size(self, k: int) -> int:
        """How many node ids partition k holds."""
        return len(self.range(k))

    def partition_of(self, ids: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The partition of each id, int64, of the same shape."""
        return (np.asarray(ids) // self.rows).astype(np.int64)

    @property
    def offset_bits(self) -> int:
        """Bits that hold the largest offset inside a partition."""
        return max(1, (self.rows - 1).bit_length())
