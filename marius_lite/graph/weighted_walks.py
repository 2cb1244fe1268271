"""Walks that follow links by their weights: where they lead from one end of a link that was left out.

Walks of two and four steps lead to nodes with neighbours in common, those of three to nodes that are chosen by who chooses alike.
Of a link that has a relation, walks begin and end at links of that relation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marius_lite._native import neighbour_sum
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import EDGES_AT_ONCE
from marius_lite.graph.link_steps import looked_at

Floats = npt.NDArray[np.float32]
Pairs = npt.NDArray[np.int32]
ASKED_AT_ONCE = 250
"""Links that are asked for at a time: both ends of each have a number for every node."""


@dataclass(frozen=True)
class WeighedLinks:
    """Links of ``nodes`` ends, (links, 2) in random order, each once whatever its direction, and the edges that they are made of.

    Where there are relations, an end is a node, a relation and a side. ``of``: the link of each edge. ``weights``: of each edge.
    """

    nodes: int
    links: Pairs
    of: npt.NDArray[np.int64]
    weights: Floats

    def summed(self, shares: Floats) -> Floats:
        """Return for each link the sum of its edges' shares."""
        return np.bincount(self.of, shares, len(self.links)).astype(np.float32)


def weighed_links(dataset: Dataset) -> WeighedLinks:
    """Read the training edges, which have weights; of large graphs those among some nodes that are near each other.

    Raises UserError for damaged edges.
    """
    ends, weights = _edges(dataset)
    distinct, numbers = np.unique(ends, return_inverse=True)
    low, high = np.sort(numbers.reshape(2, -1), axis=0)
    codes, of = np.unique(low * len(distinct) + high, return_inverse=True)
    order = np.random.default_rng(0).permutation(len(codes))
    links = np.stack(np.divmod(codes, max(1, len(distinct))), 1).astype(np.int32)[order]
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    chosen = looked_at(len(distinct), links)
    inside = chosen[links[:, 0]] & chosen[links[:, 1]]
    kept = inside[place[of]]
    renumbered, moved = (np.cumsum(chosen) - 1).astype(np.int32), np.cumsum(inside) - 1
    return WeighedLinks(int(chosen.sum()), renumbered[links[inside]], moved[place[of[kept]]], weights[kept])


def _edges(dataset: Dataset) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the ends of all training edges but self-loops, int64 (2, edges), and their weights."""
    p, nodes, relations = dataset.partitioning, dataset.manifest.nodes, dataset.manifest.relations
    every, found, weights = range(p.partitions), [np.empty((2, 0), np.int64)], [np.empty(0, np.float32)]
    for piece in dataset.edges("train").block(every, every, EDGES_AT_ONCE, ("src", "dst", "rel", "weight")):
        ends = np.stack(piece.node_ids(p)).astype(np.int64)
        kept = ends[0] != ends[1]
        if relations > 1:
            side = 2 * piece.columns[2].astype(np.int64)
            ends += nodes * np.stack([side, side + 1])
        found.append(ends[:, kept])
        weights.append(piece.columns[3][kept])
    return np.concatenate(found, 1), np.concatenate(weights)


@dataclass(frozen=True)
class _HeldOut:
    """Questions: the ends of links that walks begin at, ``one``, and those that they should find, ``other``; which nodes are no
    answers, (nodes, questions): ``one`` itself and what is linked to it."""

    one: npt.NDArray[np.int32]
    other: npt.NDArray[np.int32]
    left_out: npt.NDArray[np.bool_]

    def reciprocal_ranks(self, walks: Floats) -> Floats:
        """Rank by ``walks`` (nodes, questions), which are overwritten; the mean of both ends of each link."""
        np.putmask(walks, self.left_out, -1)
        right = walks[self.other, np.arange(len(self.other))]
        above, equal = (np.count_nonzero(found, axis=0) for found in (walks > right, walks == right))
        found: Floats = (1 / (1 + above + (equal - 1) / 2)).reshape(2, -1).mean(0)
        return found


class Walks:
    """Walks over ``links``, (links, 2), of so many ``nodes`` that ask for the ends of other links, ``asked`` (asked, 2)."""

    def __init__(self, nodes: int, links: Pairs, asked: Pairs):
        src, dst = np.concatenate([links, links[:, ::-1]]).T
        self._order = np.argsort(dst, kind="stable")
        counts = np.bincount(dst, minlength=nodes)
        self._indptr = np.concatenate([[0], np.cumsum(counts)])
        self._sources, self._targets = np.ascontiguousarray(src[self._order]), np.repeat(np.arange(nodes), counts)
        self._nodes = nodes
        self._asked = [self._asking(asked[start : start + ASKED_AT_ONCE]) for start in range(0, len(asked), ASKED_AT_ONCE)]

    def reciprocal_ranks(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return the reciprocal rank of each asked link's ends, the mean of both, by walks of two and four steps, and of three.

        ``shares``: of each link. Steps weigh by those, beside the shares of all links of both of their ends.
        """
        steps = np.concatenate([shares, shares])[self._order]
        sums = np.bincount(self._targets, steps, self._nodes)
        roots = (1 / np.sqrt(np.where(sums > 0, sums, 1))).astype(np.float32)
        steps = steps * roots[self._sources] * roots[self._targets]
        even, three = (np.concatenate(parts) for parts in zip(*(self._ranks(each, steps) for each in self._asked), strict=True))
        return even, three

    def _asking(self, asked: Pairs) -> _HeldOut:
        one, other = asked.T.reshape(-1), asked.T[::-1].reshape(-1)
        begun = self._begun(one)
        return _HeldOut(one, other, (self._step(begun, None) > 0) | (begun > 0))

    def _begun(self, starts: npt.NDArray[np.int32]) -> Floats:
        begun = np.zeros((self._nodes, len(starts)), np.float32)
        begun[starts, np.arange(len(starts))] = 1
        return begun

    def _ranks(self, asked: _HeldOut, steps: Floats) -> tuple[Floats, Floats]:
        two = self._step(self._step(self._begun(asked.one), steps), steps)
        three = self._step(two, steps)
        two += self._step(three, steps)
        return asked.reciprocal_ranks(two), asked.reciprocal_ranks(three)

    def _step(self, walks: Floats, steps: Floats | None) -> Floats:
        out = np.empty_like(walks)
        neighbour_sum(walks, self._indptr, self._sources, out, steps)
        return out
