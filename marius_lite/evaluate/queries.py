"""Sort the questions that a model is asked: (source, relation, ?) and (?, relation, destination)."""

from __future__ import annotations

import numpy as np

from marius_lite.evaluate.edges import EdgeBlock
from marius_lite.types import Ids


class Queries:
    """Queries sorted by (side, node, relation), so that equal questions are together.

    Side 0 asks for the destination, side 1 for the source. Of each query there is, (n,) int64: ``side``; ``node``, the known end;
    ``rel``; ``answer``, -1 where unknown; ``place``, where it stood before the sort; ``key``, the number of its question.

    Different questions are numbered in order. Question u is asked by queries [starts[u], starts[u + 1]). The questions of side s
    are [sides[s], sides[s + 1]). Their ``codes`` (node * relations + relation) ascend.
    """

    def __init__(self, side: Ids, node: Ids, rel: Ids, answer: Ids, relations: int):
        order = np.lexsort((rel, node, side))
        self.relations = relations
        self.place = order
        self.side, self.node, self.rel, self.answer = (each[order] for each in (side, node, rel, answer))
        codes = self.node * relations + self.rel
        first = np.ones(len(order), bool)
        first[1:] = (codes[1:] != codes[:-1]) | (self.side[1:] != self.side[:-1])
        rows = np.flatnonzero(first)
        self.key = np.cumsum(first) - 1
        self.codes = codes[rows]
        self.starts = np.append(rows, len(order))
        self.sides = (0, int(np.searchsorted(self.side[rows], 1)), len(rows))

    @classmethod
    def of_edges(cls, edges: EdgeBlock, relations: int) -> Queries:
        """Return both questions of n edges. At places 0 to n - 1 are those for destinations, then those for sources."""
        side = np.repeat(np.arange(2), len(edges.src))
        node, answer = np.concatenate([edges.src, edges.dst]), np.concatenate([edges.dst, edges.src])
        return cls(side, node, np.concatenate([edges.rel, edges.rel]), answer, relations)

    def __len__(self) -> int:
        return len(self.node)

    def first_about(self, side: int, nodes: Ids) -> Ids:
        """Return for each of these nodes (ascending) the first question of ``side`` about it, or about a later node."""
        start, stop = self.sides[side], self.sides[side + 1]
        return start + np.searchsorted(self.codes[start:stop], nodes * self.relations)
