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


def degrees(edges: EdgeBuckets, nodes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return for each of ``nodes`` (n,) how many ends of edges it is, (n,); both ends of a self-loop count.

    Only buckets of their partitions are read. Memory grows with the nodes asked for. Raises UserError where edges are damaged.
    """
    asked, place = np.unique(nodes, return_inverse=True)
    counts = np.zeros(len(asked), np.int64)
    every, rows = range(edges.partitioning.partitions), edges.partitioning.rows
    for k in np.unique(asked // rows).tolist():
        own, (low, high) = range(k, k + 1), np.searchsorted(asked, [k * rows, (k + 1) * rows])
        offsets = asked[low:high] - k * rows
        for sources, destinations, end in ((every, own, "dst"), (own, every, "src")):
            for piece in edges.block(sources, destinations, EDGES_AT_ONCE, [end]):
                ends = np.sort(piece.columns[0])
                counts[low:high] += np.searchsorted(ends, offsets, "right") - np.searchsorted(ends, offsets, "left")
    found: npt.NDArray[np.int64] = counts[place]
    return found
