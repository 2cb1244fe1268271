"""Try linear models of features and of what neighbours have: do nodes say more apart from their neighbours, or mixed with them,
over how many hops, and at which ends of edges? A network trained on the same takes minutes; these take seconds, and rank the
same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.linear_test import FEWER, LinearTest, clear, linear_test, noise
from marius_lite.graph.whole_lists import Floats, UnitOf, WholeLists, whole_lists

WIDTH = 256
"""The most columns of features; wider ones become so many of their principal components."""
HOPS, MOST_HOPS = 4, 12
"""Hops that are tried, and where more than two are clearly better."""
MOST_COLUMNS = 2_048
"""Columns that stand side by side where the neighbours of each relation are apart."""


@dataclass(frozen=True)
class Tried:
    """The shares of validation nodes whose class (or one of whose classes) linear models tell right.

    ``own``: by a node's features alone. ``apart``: by these and, apart from them, the means of its neighbours of one and of two
    hops. ``mixed``: by the features after 1, 2, ... hops of GCN, at least HOPS. ``related``: as ``apart``, but with the
    neighbours of each relation apart from the others', and perhaps those at either end of edges; None where all are alike, or
    there are too many relations. ``asked``: how many validation nodes were asked for.
    ``unweighted``: the best of ``own``, ``apart`` and ``mixed`` where all edges count alike; None where they do in these too.
    ``directions``: which neighbours these take, as `model.directions`: in, unless others are clearly better.
    ``related_directions``: those of ``related``. ``one_way``: the best of ``own``, ``apart`` and ``mixed`` with in, where
    ``directions`` are others. ``several``: whether some of these nodes have several classes. Almost all are then told one of them
    right, whatever the hops, so that shares say little about how many of these are best. ``rare``: whether shares are ROC AUCs,
    see `LinearTest`.
    """

    own: float
    apart: float
    mixed: tuple[float, ...]
    related: float | None
    asked: int
    unweighted: float | None = None
    directions: str = "in"
    related_directions: str = "in"
    one_way: float | None = None
    several: bool = False
    rare: bool = False

    def told(self, share: float) -> str:
        """Say what a share means."""
        if self.rare:
            return f"linear models rank the rarer classes of validation nodes with a ROC AUC of {share:.3f}"
        return f"linear models tell {share:.0%} of the validation nodes right"

    @property
    def best(self) -> float:
        """The best share by edges whatever their relations."""
        return max(self.own, self.apart, *self.mixed)

    @property
    def unlike(self) -> bool | None:
        """Whether a node must be told from its neighbours. None where neither is clearly better."""
        apart, mixed = max(self.own, self.apart), max(self.mixed)
        return self._clear(apart, mixed) or (False if self._clear(mixed, apart) else None)

    def _clear(self, more: float, less: float) -> bool:
        """Return whether one share is clearly above another."""
        return clear(more, less, self.asked)

    @property
    def hops(self) -> int:
        """The least hops that are hardly worse than any. 2 unless more of them leave clearly fewer wrong answers."""
        two, near = self.mixed[1], max(self.mixed[1:HOPS])
        if not self._clear(near, two) or near - two <= FEWER * (1 - two):
            return 2
        least = (best := max(self.mixed[1:])) - noise(best, best, self.asked) / 2
        return next(hop for hop, share in enumerate(self.mixed[1:], start=2) if share >= least)

    @property
    def better_unweighted(self) -> bool:
        """Whether neighbours clearly say more where all edges count alike, whatever their weights."""
        return self.unweighted is not None and self._clear(self.unweighted, self.best)

    @property
    def better_related(self) -> bool:
        """Whether the neighbours of each relation, or at either end, say clearly more apart from the others'."""
        return self.related is not None and self._clear(self.related, self.best)


def tried(dataset: Dataset, directions: Sequence[str], unit_of: UnitOf = lambda _: None) -> Tried | None:
    """Try them. ``directions``: values of `model.directions` that are tried, the usual one first. ``unit_of``: returns the weight
    of an edge that counts as one, None where all count alike; it is asked where something is tried. None where the graph is too
    large, or there are too few training and validation nodes.

    Takes 60 bytes an edge and 6 KB a node at most. Raises UserError for a damaged dataset, RunError for a file that cannot be
    read.
    """
    test = None if dataset.features is None else linear_test(dataset)
    if test is None:
        return None
    unit = unit_of(dataset)
    lists = whole_lists(dataset, unit)
    rows, count = _rows(dataset), test.asked
    own = test.of(rows)
    by_ends = {ends: _shares(test, rows, lists.facing(ends)) for ends in directions}
    best = {ends: max(own, apart, *mixed) for ends, (apart, mixed) in by_ends.items()}
    usual, most = directions[0], max(reversed(directions), key=lambda ends: best[ends])
    chosen = most if clear(best[most], best[usual], count) else usual
    one_way = best[usual] if chosen != usual else None
    found = Tried(own, *by_ends[chosen], None, count, directions=chosen, one_way=one_way, several=test.several, rare=test.rare)
    if unit:
        either, shares = _shares(test, rows, whole_lists(dataset).facing(chosen))
        found = replace(found, unweighted=max(own, either, *shares))
    for ends in dict.fromkeys([chosen, *directions[-1:]]):
        share = _related(test, rows, lists, dataset.manifest.relations, ends)
        if share is not None and (found.related is None or clear(share, found.related, count)):
            found = replace(found, related=share, related_directions=ends)
    return replace(found, mixed=_mixed(test, rows, lists.facing(chosen), MOST_HOPS)) if found.hops > 2 else found


def _related(test: LinearTest, rows: Floats, lists: WholeLists, relations: int, directions: str) -> float | None:
    """Return the share of right answers by nodes and, apart from them, their neighbours of each relation and at either end.

    None where all are alike, or there are too many.
    """
    ends = ("in", "out") if directions == "both" else (directions,)
    if not 1 < relations * len(ends) <= (MOST_COLUMNS / rows.shape[1] - 1) / 2:
        return None
    each = [lists.of_relation(r).facing(end) for end in ends for r in range(relations)]
    near = [of_one.means(rows) for of_one in each]
    return max(test.of(rows, *near), test.of(rows, *near, *(of_one.means(part) for of_one, part in zip(each, near))))


def _shares(test: LinearTest, rows: Floats, lists: WholeLists) -> tuple[float, tuple[float, ...]]:
    """Return the shares of right answers of nodes apart from their neighbours, and mixed with them by hops."""
    near = lists.means(rows)
    apart = max(test.of(rows, near), test.of(rows, near, lists.means(near)))
    del near
    return apart, _mixed(test, rows, lists, HOPS)


def _mixed(test: LinearTest, rows: Floats, lists: WholeLists, hops: int) -> tuple[float, ...]:
    """Return the shares of right answers after 1, 2, ... hops."""
    shares = []
    for _ in range(hops):
        rows = lists.mixed(rows)
        shares.append(test.of(rows))
    return tuple(shares)


def _rows(dataset: Dataset) -> Floats:
    """Return the features, or their principal components where they are wide: float32 (nodes, WIDTH at most)."""
    features = dataset.features
    assert features is not None
    partitions = range(dataset.partitioning.partitions)
    if features.width <= WIDTH:
        return np.concatenate([features.values(k) for k in partitions])
    # One step of subspace iteration (Halko, Martinsson, Tropp 2011).
    chance = np.random.default_rng(0).normal(size=(features.width, WIDTH)).astype(np.float32)
    found = np.zeros_like(chance)
    for k in partitions:
        values = features.values(k)
        found += values.T @ (values @ chance)
    basis = np.linalg.qr(found)[0]
    return np.concatenate([features.values(k) @ basis for k in partitions])
