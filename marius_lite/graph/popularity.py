"""Count how often nodes are ends of training edges, out of core: one partition at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marius_lite.graph.edges import EDGES_AT_ONCE, EdgeBuckets


def popularity(edges: EdgeBuckets, k: int) -> npt.NDArray[np.int64]:
    """Return for each node of partition k how often it is a destination and a source, (2, nodes).

    It reads the buckets of the partition, EDGES_AT_ONCE edges at a time. Raises UserError where they are damaged.
    """
    every, own = range(edges.partitioning.partitions), range(k, k + 1)
    counts = np.zeros((2, edges.partitioning.size(k)), np.int64)
    for count, (rows, columns, end) in zip(counts, ((every, own, "dst"), (own, every, "src"))):
        for piece in edges.block(rows, columns, EDGES_AT_ONCE, [end]):
            count += np.bincount(piece.columns[0], minlength=len(count))
    return counts
