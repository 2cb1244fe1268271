"""Find out whether the links of a graph have a direction. They have none where the reverse of nearly every edge is an edge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marius_lite.graph.dataset import Dataset

DIRECTIONS = ["in", "out", "both"]
"""Values of `model.directions`."""
MOST = 0.8
"""The share of edges whose reverse is an edge too, from which on a graph is taken for undirected. It is below 1, because the
reverse may be in another split."""
BUCKET_SAMPLE = 1 << 20
"""The most edges that are read of a bucket; each takes 8 bytes."""
ENOUGH = 10_000
"""How many edges give the share well enough."""
FEWEST = 1_000
"""How many edges must be looked at before it means something that none has its reverse. Where links have a direction, some
always do."""
ROLES = 0.1
"""The share of destinations that are sources too, from which on both are taken for one kind of node."""


def each_end(directions: str) -> tuple[str, ...]:
    """Return the ends of edges that nodes take from, in and out, by one of DIRECTIONS."""
    return ("in", "out") if directions == "both" else (directions,)


@dataclass(frozen=True)
class Directions:
    """What a sample of edges says about their directions.

    ``edges``: how many edges the sample has. ``both_ways``: the share of them whose reverse is an edge too. ``one_kind``: whether
    sources and destinations are largely the same nodes.
    """

    edges: int
    both_ways: float
    one_kind: bool

    @property
    def undirected(self) -> bool:
        """Whether links have no direction."""
        return self.both_ways >= MOST

    @property
    def perhaps_each_edge_once(self) -> bool:
        """Whether this may be an undirected graph whose edges are stored in one direction only. A graph of citations looks the
        same."""
        return not self.both_ways and self.edges >= FEWEST and self.one_kind


def directions(dataset: Dataset) -> Directions:
    """Estimate the directions of training edges, whatever their relations.

    The sample has edges inside partitions, because there an edge and its reverse are in one bucket. It takes about 60 MB. Only
    buckets that are read to their end are compared with their checksums; training compares all.
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
    """Return for each edge whether its reverse is among the edges too, which are in the order of ``dst``.

    Self-loops are left out; and, unless the edges are the ``whole`` bucket, those of nodes whose in-edges may be cut off.
    """
    kept = src != dst
    if not whole:
        kept &= np.maximum(src, dst) < dst[-1]
    src, dst = src[kept].astype(np.uint64), dst[kept].astype(np.uint64)
    shift = np.uint64(32)
    return np.isin(dst << shift | src, src << shift | dst)
