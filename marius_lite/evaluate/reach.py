"""Which nodes each layer is worked out for, where the vectors of some nodes are wanted.

The last layer is worked out for these, the layer before it for their neighbours too, and so on to the input. Of a large graph of
which few nodes are wanted, most work is saved. Rows of some nodes lie side by side: a node's *place* is its number among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from marius_lite.evaluate.layer_inputs import InEdgeReader
from marius_lite.graph.partitioning import Partitioning
from marius_lite.types import Ids

Marks = npt.NDArray[np.bool_]
MOST = 0.5
"""The share of all nodes from which on a layer is worked out for all of them."""
BYTES_A_NODE = 8
"""Bytes of each node of the graph while reaches are found and used: marks of two layers, places as uint32, and room to spare."""
MEMORY_SHARE = 4
"""The part of the memory that these may take."""


@dataclass(frozen=True)
class Reach:
    """Some nodes of a graph in partitions: their ``ids``, ascending; None: all. ``edges``: how many in-edges those of each
    partition have; None: not counted."""

    partitioning: Partitioning
    ids: Ids | None = None
    edges: Sequence[int] | None = None

    @cached_property
    def places(self) -> Partitioning:
        """The partitions in which their rows are kept."""
        if self.ids is None:
            return self.partitioning
        return Partitioning(max(1, len(self.ids)), 1, self.partitioning.rows)

    def nodes(self, k: int) -> range | Ids:
        """Return the ids of those in partition k, ascending."""
        span = self.partitioning.range(k)
        return span if self.ids is None else self.ids[slice(*np.searchsorted(self.ids, [span.start, span.stop]))]

    def count(self, k: int) -> int:
        """Return how many of them partition k has."""
        return len(self.nodes(k))

    def offsets(self, k: int) -> Ids:
        """Return where they are in partition k, ascending."""
        return as_ids(self.nodes(k)) - self.partitioning.range(k).start

    def marks(self, k: int) -> Marks:
        """Return whether each node of partition k is one of them."""
        found = np.zeros(self.partitioning.size(k), bool)
        found[self.offsets(k)] = True
        return found

    def places_of(self, ids: Ids) -> Ids:
        """Return the places of some of them."""
        return ids if self.ids is None else np.searchsorted(self.ids, ids)

    def id_of(self, place: int) -> int:
        """Return the node at a place."""
        return place if self.ids is None else int(self.ids[place])


def as_ids(nodes: range | Ids) -> Ids:
    """Return nodes as an array."""
    return np.arange(nodes.start, nodes.stop) if isinstance(nodes, range) else nodes


def reaches(adjacency: InEdgeReader, partitioning: Partitioning, wanted: Ids, layers: int, memory: int) -> list[Reach]:
    """Return the nodes whose input rows are needed, then those that each of so many ``layers`` is worked out for.

    The last ones are ``wanted``. A layer has all nodes where there would be more than `MOST` of them, or where the ``memory`` has
    no room for marks. Lists of the nodes that are reached are read once for each layer.
    """
    nodes = partitioning.nodes
    every = [Reach(partitioning)] * (layers + 1)
    if BYTES_A_NODE * nodes > memory // MEMORY_SHARE or nodes > np.iinfo(np.uint32).max or not len(wanted):
        return every
    marks = np.zeros(nodes, bool)
    marks[wanted] = True
    found = list[Reach]()
    for _ in range(layers):
        if marks.sum() > MOST * nodes:
            break
        before, edges = marks.copy(), [0] * partitioning.partitions
        for k in range(partitioning.partitions):
            span = partitioning.range(k)
            own = marks[span.start : span.stop]
            if own.any():
                lists = adjacency.read(k, relations=False)
                sources = lists.sources[np.repeat(own, np.diff(lists.indptr))]
                edges[k] = len(sources)
                before[sources] = True
        found.append(Reach(partitioning, np.flatnonzero(marks), edges))
        marks = before
    if len(found) == layers and marks.sum() <= MOST * nodes:
        found.append(Reach(partitioning, np.flatnonzero(marks)))
    return [*every[len(found) :], *reversed(found)]
