"""Draw some neighbours of some nodes from the lists on disk, so that a part of a large graph can be looked at in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.graph.adjacency import PartitionLists, as_factors
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.whole_lists import WholeLists

Ints = npt.NDArray[np.int64]
EDGES_AT_ONCE = 1 << 20
"""Edges that are looked through at a time for those that begin at some nodes."""
EDGE = {"other": np.int64, "rel": np.int64, "weights": np.float32}
"""What an edge has: the node at its other end, and its relation and weight where there are some, else 0."""


class EdgesAtEnd:
    """Up to ``fanout`` edges of each of ``nodes``, which are ascending, at one end.

    ``counts``: how many edges each node has, drawn or not. ``at``: for each drawn edge, which of the nodes it is of. ``edges``:
    what is in EDGE.
    """

    def __init__(self, nodes: Ints, fanout: int, rng: np.random.Generator):
        self.nodes, self.counts, self.at = nodes, np.zeros(len(nodes), np.int64), np.zeros(0, np.int64)
        self.edges: dict[str, npt.NDArray[Any]] = {name: np.zeros(0, dtype) for name, dtype in EDGE.items()}
        self._fanout, self._rng, self._keys = fanout, rng, np.zeros(0)

    def draw_in(self, lists: PartitionLists, part: slice, low: int) -> None:
        """Draw edges that lead to a ``part`` of the nodes, of one partition, whose first node is ``low``."""
        offsets, fanout = self.nodes[part] - low, self._fanout
        counts = np.diff(lists.indptr)[offsets]
        self.counts[part] = counts
        # Of longer lists edges are drawn with repetitions, which are left out: a node with a million edges is as quick.
        places = np.where(counts[:, None] > fanout, self._rng.random((len(counts), fanout)) * counts[:, None], np.arange(fanout))
        at, column = np.nonzero(np.arange(fanout) < counts[:, None])
        pairs = np.unique(np.stack([at, lists.indptr[offsets[at]] + places[at, column].astype(np.int64)]), axis=1)
        self._add(pairs[0] + part.start, lists, pairs[1], lists.sources[pairs[1]])

    def draw_out(self, lists: PartitionLists, low: int, bits: npt.NDArray[np.uint8]) -> None:
        """Draw edges that lead from the nodes, whose ``bits`` are set, among those that lead to nodes of one partition."""
        for found in _edges_from(bits, lists.sources):
            at = np.searchsorted(self.nodes, lists.sources[found].astype(np.int64))
            self.counts += np.bincount(at, minlength=len(self.nodes))
            self._add(at, lists, found, low + np.searchsorted(lists.indptr, found, side="right") - 1)

    def _add(self, at: Ints, lists: PartitionLists, places: Ints, others: npt.NDArray[Any]) -> None:
        """Add edges, at ``places`` of the lists. Of each node those with the least keys are left: they are drawn at random."""
        at, keys = np.concatenate([self.at, at]), np.concatenate([self._keys, self._rng.random(len(at))])
        order = np.lexsort((keys, at))
        ordered = at[order]
        kept = order[np.arange(len(at)) - np.searchsorted(ordered, ordered) < self._fanout]
        self.at, self._keys = at[kept], keys[kept]
        nothing = np.zeros(len(places))
        added = {
            "other": others,
            "rel": nothing if lists.rel is None else lists.rel[places],
            "weights": nothing if lists.weights is None else lists.weights[places],
        }
        self.edges = {name: np.concatenate([self.edges[name], added[name].astype(EDGE[name])])[kept] for name in EDGE}


def draw(dataset: Dataset, nodes: Ints, fanout: int, ends: Sequence[str], weights: bool, seed: int) -> dict[str, EdgesAtEnd]:
    """Draw up to ``fanout`` edges of each of ``nodes`` at each of the ``ends``: in, those that lead to it; out, from it.

    Edges that lead from nodes take one pass over all lists. It takes a bit for each node of the graph, and what the largest
    partition's lists take. Raises UserError for a damaged dataset, RunError for a file that cannot be read.
    """
    assert dataset.adjacency is not None
    rng, rows = np.random.default_rng(seed), dataset.partitioning.rows
    found = {end: EdgesAtEnd(nodes, fanout, rng) for end in ends}
    bits = _bits(nodes, dataset.manifest.nodes)
    for k in range(dataset.partitioning.partitions):
        first, last = np.searchsorted(nodes, [k * rows, (k + 1) * rows]).tolist()
        if first == last and "out" not in ends:
            continue
        lists = dataset.adjacency.read(k, weights=weights)
        if "in" in ends:
            found["in"].draw_in(lists, slice(first, last), k * rows)
        if "out" in ends:
            found["out"].draw_out(lists, k * rows, bits)
    return found


def _bits(nodes: Ints, size: int) -> npt.NDArray[np.uint8]:
    """Return a bit for each node of the graph: whether it is one of these."""
    bits = np.zeros(size // 8 + 1, np.uint8)
    np.bitwise_or.at(bits, nodes >> 3, (1 << (nodes & 7)).astype(np.uint8))
    return bits


def _edges_from(bits: npt.NDArray[np.uint8], sources: npt.NDArray[Any]) -> Iterator[Ints]:
    """Yield which edges begin at nodes whose bit is set, some at a time."""
    for low in range(0, len(sources), EDGES_AT_ONCE):
        part = sources[low : low + EDGES_AT_ONCE]
        found = np.flatnonzero(bits[part >> 3] >> (part & 7).astype(np.uint8) & 1)
        if len(found):
            yield found + low


def lists_of_drawn(hops: Sequence[Sequence[EdgesAtEnd]], nodes: Ints, unit: float | None) -> WholeLists:
    """Return the lists of ``nodes``, ascending, by edges that were drawn of some: for each hop, those at one end or at both.

    A drawn edge counts for all edges that its node has at this end, divided by those that were drawn. ``unit``: the weight that
    counts as one; None: all count alike. Nodes that nothing was drawn of have an empty list. They are taken to have as many edges
    as those of the last hop have on average: both were met in the same way.
    """
    listed, at, factors, edges = np.zeros(len(nodes), bool), [], [], []
    for each in (one for hop in hops for one in hop):
        drawn = np.bincount(each.at, minlength=len(each.nodes))
        factor = (each.counts / np.maximum(drawn, 1))[each.at].astype(np.float32)
        factors.append(factor if unit is None else factor * as_factors(each.edges["weights"].copy(), unit))
        places = np.searchsorted(nodes, each.nodes)
        listed[places] = True
        at.append(places[each.at])
        edges.append(each.edges)
    ends, counted = np.concatenate(at), np.concatenate(factors)
    other, rel = (np.concatenate([each[name] for each in edges]) for name in ("other", "rel"))
    order, lengths = np.argsort(ends, kind="stable"), np.bincount(ends, minlength=len(nodes))
    sums: npt.NDArray[np.float64] = np.bincount(ends, counted, len(nodes)).astype(np.float64)
    last = np.searchsorted(nodes, hops[-1][0].nodes)
    sums[~listed] = sums[last].mean() if len(last) else 0.0
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return WholeLists(indptr, np.searchsorted(nodes, other[order]).astype(np.int32), rel[order], counted[order], sums)
