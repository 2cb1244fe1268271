"""Find out whether the links of a graph have a direction. They have none where the reverse of nearly every edge is an edge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marius_lite.graph.dataset import Dataset

MOST = 0.8
"""Share of edges with their reverse from which on a graph is taken for undirected: less than all, since the reverse may stand in
another split."""
BUCKET_SAMPLE = 1 << 20
"""The most edges that are read of a bucket; each takes 8 bytes."""
ENOUGH = 10_000
"""Edges that tell the share well enough."""
FEWEST = 1_000
"""Edges without a single reverse among them that are hardly chance where links have a direction: some are always answered."""
ROLES = 0.1
"""Share of destinations that are sources too, from which on both are one kind of node."""


@dataclass(frozen=True)
class Directions:
    """Directions of edges in a sample of a graph.

    ``edges``: how many of them were looked at; ``both_ways``: the share of them whose reverse is an edge, too;
    ``one_kind``: whether sources and destinations are largely the same nodes.
    """

    edges: int
    both_ways: float
    one_kind: bool

    @property
    def undirected(self) -> bool:
        return self.both_ways >= MOST

    @property
    def perhaps_each_edge_once(self) -> bool:
        """Whether this may be an undirected graph whose edges are stored in one direction only; or one of citations."""
        return not self.both_ways and self.edges >= FEWEST and self.one_kind


def directions(dataset: Dataset) -> Directions:
    """How training edges between two nodes lie, whatever their relation.

    An estimate, by edges inside partitions, where an edge and its reverse lie in one bucket. Takes about 60 MB. Only of buckets
    that are read to their end the checksums are compared here; training compares all.
    """
    edges = dataset.edges("train")
    both = count = sources = destinations = 0
    for k in range(dataset.partitioning.partitions):
        for src, dst in edges.stream_columns(k, k, BUCKET_SAMPLE, ("src", "dst")):
            there = _both_ways(src, dst, whole=len(src) == edges.counts[k, k])
            both, count = both + int(there.sum()), count + len(there)
            ends = np.unique(dst)
            sources, destinations = sources + int(np.isin(ends, src).sum()), destinations + len(ends)
            break
        if count >= ENOUGH:
            break
    return Directions(count, both / max(1, count), sources >= ROLES * destinations)


def _both_ways(src: npt.NDArray[np.uint32], dst: npt.NDArray[np.uint32], whole: bool) -> npt.NDArray[np.bool_]:
    """For each edge between two nodes whose in-edges are all there, whether its reverse is. Edges are in the order of ``dst``."""
    kept = src != dst
    if not whole:
        kept &= np.maximum(src, dst) < dst[-1]
    src, dst = src[kept].astype(np.uint64), dst[kept].astype(np.uint64)
    shift = np.uint64(32)
    return np.isin(dst << shift | src, src << shift | dst)
