"""Over how many hops first rows are mixed, where nodes are classified by where they are: as linear models of such rows tell.

Few hops say which nodes are near, many say which part of the graph a node is in. How many it takes depends on the graph: in trees
hundreds, where nodes have many links fewer than ten, after which all rows are alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.graph_sample import GraphSample
from marius_lite.graph.linear_test import FEWER, clear, linear_test
from marius_lite.graph.symmetry import each_end
from marius_lite.graph.whole_lists import Floats, UnitOf, WholeLists, whole_lists, whole_width

WIDTH = 128
"""Numbers of a row that is tried, at most."""
MOST_GATHERED = 1 << 34
"""Hops times numbers that each of them takes or makes, at most: some ten seconds."""


@dataclass(frozen=True)
class BetterHops:
    """``hops``: how many are best. ``share``: of validation nodes that linear models tell right by them; ``before``: by fewer."""

    hops: int
    share: float
    before: float


def first_hops(dataset: Dataset, usual: int, most: int, directions: str, unit_of: UnitOf, memory: int = 0) -> BetterHops | None:
    """Double the ``usual`` hops, to ``most`` at most, where each doubling makes a fifth of the wrong answers right on average.

    More hops are tried as long as they are no worse.

    ``directions``, ``unit_of``, ``memory``: see `graph.hops.tried`. None where the usual ones are best, or nothing can be said:
    of large graphs, few nodes, or nodes of several classes, see `Tried.several`. Raises UserError for a damaged dataset, RunError
    for a file that cannot be read.
    """
    size, width = dataset.manifest, min(WIDTH, whole_width(dataset, memory))
    most = most_hops(dataset, each_end(directions), width, most)
    test = linear_test(dataset) if 2 * usual <= most and width else None
    if test is None or test.several:
        return None
    lists = whole_lists(dataset, unit_of(dataset)).facing(directions)
    rows = walked(drawn_rows(size.nodes, width), lists, usual)
    hops, shares = usual, [test.of(*_begun(rows, lists))]
    while 2 * hops <= most and shares[-1] < 1:
        rows, hops = walked(rows, lists, hops), 2 * hops
        share = test.of(*_begun(rows, lists))
        if share < shares[-1]:
            break
        shares.append(share)
    doublings = best_doublings(shares, test.asked)
    return BetterHops(usual << doublings, shares[doublings], shares[0]) if doublings else None


@dataclass(frozen=True)
class WalkedRows:
    """What rows that say where a node is say of classes, as shares of right answers (see `Tried`): ``alone``, and
    ``beside`` the features of the node and of its neighbours. ``directions``: along which ends of edges rows were mixed."""

    alone: float
    beside: float
    directions: str


def walked_rows(sample: GraphSample, features: Floats, directions: str, hops: int) -> WalkedRows | None:
    """Try first rows of so many ``hops``. ``features``: (nodes, width) of the whole graph. None where nodes are drawn, where it
    would take too long, or nodes have several classes."""
    test, lists, nodes, width = sample.test, sample.facing(directions), len(features), min(WIDTH, sample.whole)
    if not width or test.several or hops * (len(lists.sources) + 2 * nodes) * width > MOST_GATHERED:
        return None
    rows = _begun(walked(drawn_rows(nodes, width), lists, hops), lists)
    near = lists.means(features)
    beside = (test.of(*rows, *others) for others in ((features, near), (lists.mixed(lists.mixed(features)),)))
    return WalkedRows(test.of(*rows), max(beside), directions)


def best_doublings(shares: Sequence[float], asked: int) -> int:
    """Return how many doublings are worth it, by the shares of right answers after 0, 1, ... of them, of so many ``asked``."""
    best = 0
    for at, share in enumerate(shares):
        if clear(share, shares[best], asked) and 1 - share <= (1 - FEWER) ** (at - best) * (1 - shares[best]):
            best = at
    return best


def most_hops(dataset: Dataset, ends: Sequence[str], width: int, most: int) -> int:
    """Return how many hops of rows of so many numbers along ``ends`` of edges take no longer than is waited for."""
    rows_a_hop = dataset.manifest.edges["train"] * len(ends) + 2 * dataset.manifest.nodes
    return min(most, MOST_GATHERED // max(1, rows_a_hop * width))


def drawn_rows(nodes: int, width: int) -> Floats:
    """Return rows (nodes, width) as they are drawn."""
    return np.random.default_rng(0).standard_normal((nodes, width), np.float32)


def walked(rows: Floats, lists: WholeLists, hops: int) -> Floats:
    """Return rows after more hops: each is the mean of the neighbours' rows, or the node's own where it has none."""
    for _ in range(hops):
        means = lists.means(rows)
        rows = np.where(means.any(1, keepdims=True), means, rows)
    return rows


def _begun(rows: Floats, lists: WholeLists) -> tuple[Floats, Floats]:
    """Return rows as training begins with them, and what two hops of GCN make of these."""
    rows = as_begun(rows)
    return rows, lists.mixed(lists.mixed(rows))


def as_begun(rows: Floats) -> Floats:
    """Return rows as training begins with them, but for their length, which is 1."""
    rows = at_length_one(rows)
    return at_length_one(rows - rows.mean(0))


def at_length_one(rows: Floats) -> Floats:
    """Return rows (n, dim) of length 1, or 0 where they are 0."""
    scaled: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return scaled
