"""The questions asked of a model: (source, relation, ?) and (?, relation, destination)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marius_lite.evaluate.edges import EdgeBlock

Ids = npt.NDArray[np.int64]


class Queries:
    """Questions sorted by (side, node, relation), so that equal ones stand together.

    Side 0 asks for the destination, side 1 for the source. Per row: ``side``, ``node`` (the known one),
    ``rel``, ``answer`` (-1 where unknown), ``place`` (where the row stood before sorting) and ``key`` (number
    of its distinct question); each (n,), int64. Question u is asked in rows ``starts[u]`` to
    ``starts[u + 1]``; the questions of side s are ``sides[s]`` to ``sides[s + 1]``, and their ``codes``
    (node * relations + relation) ascend.
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
        """Both questions of n edges: at places 0 to n - 1 the destinations, then the sources."""
        side = np.repeat(np.arange(2), len(edges.src))
        node, answer = np.concatenate([edges.src, edges.dst]), np.concatenate([edges.dst, edges.src])
        return cls(side, node, np.concatenate([edges.rel, edges.rel]), answer, relations)

    def __len__(self) -> int:
        return len(self.node)

    def first_about(self, side: int, nodes: Ids) -> Ids:
        """The first question of ``side`` about each of these nodes (ascending) or a later one."""
        start, stop = self.sides[side], self.sides[side + 1]
        return start + np.searchsorted(self.codes[start:stop], nodes * self.relations)
