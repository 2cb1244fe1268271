"""Over how many hops first rows are mixed, where nodes are classified without features: as linear models of such rows tell.

Few hops say which nodes are near, many say which part of the graph a node is in. How many it takes depends on the graph: in trees
hundreds, where nodes have many links fewer than ten, after which all rows are alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.linear_test import FEWER, LinearTest, clear, linear_test
from marius_lite.graph.whole_lists import Floats, WholeLists, whole_lists

WIDTH = 128
"""Numbers of a row that is tried."""
MOST_GATHERED = 1 << 24
"""Edges times hops that are tried at most: seconds."""


@dataclass(frozen=True)
class BetterHops:
    """``hops``: how many are best. ``share``: of validation nodes that linear models tell right by them; ``before``: by fewer."""

    hops: int
    share: float
    before: float


def first_hops(dataset: Dataset, usual: int, most: int, directions: str, unit: float | None) -> BetterHops | None:
    """Double the ``usual`` hops, to ``most`` at most, as long as a fifth of the wrong answers or more become right by it.

    ``directions``, ``unit``: see `graph.hops.tried`. None where the usual ones are best, or nothing can be said. Takes 60 bytes
    an edge and 2 KB a node at most. Raises UserError for a damaged dataset, RunError for a file that cannot be read.
    """
    test = linear_test(dataset)
    if test is None:
        return None
    lists = whole_lists(dataset, unit).facing(directions)
    if len(lists.sources) * 2 * usual > MOST_GATHERED:
        return None
    rows = np.random.default_rng(0).standard_normal((dataset.manifest.nodes, WIDTH), np.float32)
    rows = _walked(rows, lists, usual)
    first = best = _share(test, rows, lists)
    hops = usual
    while 2 * hops <= most and len(lists.sources) * 2 * hops <= MOST_GATHERED:
        rows = _walked(rows, lists, hops)
        share = _share(test, rows, lists)
        if not clear(share, best, test.asked) or share - best <= FEWER * (1 - best):
            break
        hops, best = 2 * hops, share
    return BetterHops(hops, best, first) if hops > usual else None


def _walked(rows: Floats, lists: WholeLists, hops: int) -> Floats:
    """Return rows after more hops: each is the mean of the neighbours' rows, or the node's own where it has none."""
    for _ in range(hops):
        means = lists.means(rows)
        rows = np.where(means.any(1, keepdims=True), means, rows)
    return rows


def _share(test: LinearTest, rows: Floats, lists: WholeLists) -> float:
    """Return the share of right answers by rows as training begins with them, and what two hops of GCN make of these."""
    rows = _at_length_one(rows)
    rows = _at_length_one(rows - rows.mean(0))
    return test.of(rows, lists.mixed(lists.mixed(rows)))


def _at_length_one(rows: Floats) -> Floats:
    scaled: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return scaled
