"""Whether the links of a graph have a direction: they have none where nearly every edge stands there the other way round, too."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marius_lite.graph.dataset import Dataset

MOST = 0.8
"""Share of edges with their reverse from which on a graph is taken for undirected: less than all, since the reverse may stand in
another split."""
PIECE = 1 << 20
"""Edges read of a bucket, of which 8 bytes each."""
ENOUGH = 10_000
"""Edges that tell the share well enough."""


def is_undirected(dataset: Dataset) -> bool:
    """Whether `symmetric_share` is that of a graph without directions."""
    return symmetric_share(dataset) >= MOST


def symmetric_share(dataset: Dataset) -> float:
    """Of training edges between two nodes, whatever their relation, the share whose reverse is a training edge; 0 without any.

    An estimate, by edges inside partitions, where both lie in one bucket. Takes about 60 MB. Only of buckets that are read
    to their end the checksums are compared here; training compares all.
    """
    edges = dataset.edges("train")
    both = seen = 0
    for k in range(dataset.partitioning.partitions):
        for src, dst in edges.stream_columns(k, k, PIECE, ("src", "dst")):
            there = _both_ways(src, dst, whole=len(src) == edges.counts[k, k])
            both, seen = both + int(there.sum()), seen + len(there)
            break
        if seen >= ENOUGH:
            break
    return both / max(1, seen)


def _both_ways(src: npt.NDArray[np.uint32], dst: npt.NDArray[np.uint32], whole: bool) -> npt.NDArray[np.bool_]:
    """For each edge between two nodes whose in-edges are all there, whether its reverse is. Edges are in the order of ``dst``."""
    kept = src != dst
    if not whole:
        kept &= np.maximum(src, dst) < dst[-1]
    src, dst = src[kept].astype(np.uint64), dst[kept].astype(np.uint64)
    shift = np.uint64(32)
    return np.isin(dst << shift | src, src << shift | dst)
