"""The questions an edge block asks: (source, relation, ?) and (?, relation, destination) for each edge."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marius_lite.evaluate.edges import EdgeBlock

Ids = npt.NDArray[np.int64]


class Queries:
    """Two questions an edge, sorted by (side, node, relation), so that equal ones stand together.

    Side 0 asks for the destination, side 1 for the source. Per row: ``side``, ``node`` (the known one),
    ``rel``, ``answer``, ``edge`` (place in the block) and ``key`` (number of its distinct question); each
    (2n,), int64. Question u is asked in rows ``starts[u]`` to ``starts[u + 1]``; the questions of side s are
    ``sides[s]`` to ``sides[s + 1]``, and their ``codes`` (node * relations + relation) ascend.
    """

    def __init__(self, edges: EdgeBlock, relations: int):
        count = len(edges.src)
        side = np.repeat(np.arange(2), count)
        node = np.concatenate([edges.src, edges.dst])
        rel = np.concatenate([edges.rel, edges.rel])
        order = np.lexsort((rel, node, side))
        self.relations = relations
        self.side, self.node, self.rel = side[order], node[order], rel[order]
        self.answer = np.concatenate([edges.dst, edges.src])[order]
        self.edge = order % count
        codes = self.node * relations + self.rel
        first = np.ones(2 * count, bool)
        first[1:] = (codes[1:] != codes[:-1]) | (self.side[1:] != self.side[:-1])
        rows = np.flatnonzero(first)
        self.key = np.cumsum(first) - 1
        self.codes = codes[rows]
        self.starts = np.append(rows, 2 * count)
        self.sides = (0, int(self.key[count]), len(rows))

    def __len__(self) -> int:
        return len(self.node)

    def first_about(self, side: int, nodes: Ids) -> Ids:
        """The first question of ``side`` about each of these nodes (ascending) or a later one."""
        start, stop = self.sides[side], self.sides[side + 1]
        return start + np.searchsorted(self.codes[start:stop], nodes * self.relations)
