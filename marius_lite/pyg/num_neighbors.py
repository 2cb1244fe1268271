"""Turn ``num_neighbors`` into fanouts of the sampler, and say how much a batch reaches with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from marius_lite.errors import UserError
from marius_lite.graph.fanouts import Fanout
from marius_lite.pyg.typed_edges import EdgeType, TypedEdges

NumNeighbors = Sequence[int] | Mapping[EdgeType, Sequence[int]]
COUNTED_OF_ALL = 15
"""How many neighbours -1, all of them, counts as where memory is planned."""


def fanouts_of(asked: NumNeighbors, edges: TypedEdges | None) -> list[Fanout]:
    """Return the fanout of each hop: a number, or with ``edges`` one for each edge type, int64 (edge types,).

    Raises UserError for what is no number of neighbours, and where edge types have none or differ in hops.
    """
    if edges is None:
        return [*_hops(asked, "num_neighbors")]
    if not isinstance(asked, Mapping):
        return [np.full(len(edges.edge_types), fanout, np.int64) for fanout in _hops(asked, "num_neighbors")]
    hops = {
        edges.place(edge_type, "num_neighbors"): _hops(each, f"num_neighbors[{edge_type!r}]") for edge_type, each in asked.items()
    }
    for place, edge_type in enumerate(edges.edge_types):
        if place not in hops:
            raise UserError(f"num_neighbors: edge type {edge_type!r} is missing: give [0, ...] where none are to be drawn")
        if len(hops[place]) != len(hops[0]):
            raise UserError(
                f"num_neighbors: {len(hops[0])} hops for {edges.edge_types[0]!r}, {len(hops[place])} for {edge_type!r}: give "
                "each edge type as many"
            )
    return [*np.array([hops[place] for place in range(len(hops))], np.int64).T]


def reached(fanouts: Sequence[Fanout], edges: TypedEdges | None, seeds: int, most: float) -> tuple[int, int]:
    """Return how many nodes, ``most`` of them, and edges the hops reach at most, but for fanouts of -1."""
    nodes, drawn_edges = seeds, 0
    for fanout in fanouts:
        drawn = nodes * _most_drawn(fanout, edges)
        nodes, drawn_edges = int(min(nodes + drawn, most)), drawn_edges + drawn
    return nodes, drawn_edges


def _most_drawn(fanout: Fanout, edges: TypedEdges | None) -> int:
    """Return how many edges a node draws at most. It draws those of the edge types that lead to its type."""
    counted = np.where(np.asarray(fanout) < 0, COUNTED_OF_ALL, fanout)
    return int(counted if edges is None else np.bincount(edges.ends[1], counted, 1).max())


def _hops(asked: Any, where: str) -> list[int]:
    """Return the numbers of neighbours, one for each hop."""
    fanouts = [] if isinstance(asked, str | Mapping) or not isinstance(asked, Sequence | np.ndarray) else list(asked)
    if not fanouts or not all(isinstance(fanout, int | np.integer) and fanout >= -1 for fanout in fanouts):
        raise UserError(f"{where}: {fanouts or asked}: give a number for each hop, 0 or more, or -1 for all neighbours")
    return [int(fanout) for fanout in fanouts]
