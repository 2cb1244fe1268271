"""What suits nodes that have classes and no features, as linear models of first rows tell.

Rows are drawn and walk: each hop makes them the mean of neighbours' rows. Where linked nodes are alike it does not matter which
neighbours. In chains of suppliers, or in facts of many relations, it does: there a node is known by what its edges of each
relation lead to, and where they come from. Such nodes begin alike where walks go along edges and against them by turns: two
makers are not linked, but they sell to the same shops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.first_hops import WIDTH, as_begun, drawn_rows, most_hops, walked
from marius_lite.graph.linear_test import clear, linear_test, shares_by_hops
from marius_lite.graph.whole_lists import Floats, UnitOf, WholeLists, whole_lists, whole_width

MOST_NUMBERS = 1 << 24
"""Numbers of all columns of nodes that are asked for, at most."""
MOST_MADE = 1 << 31
"""Numbers of all nodes that are made each time rows are tried, at most: a few seconds."""
LEAST_WIDTH = 32
"""Numbers of a row below which it tells little."""
HOPS = 2
"""Hops of neighbours that are seen apart."""


@dataclass(frozen=True)
class ApartRows:
    """What is better than mixing a node's row with its neighbours'. ``hops``, ``by_turns``: how first rows are best mixed.
    ``share``: of validation nodes that linear models tell right by such rows of a node and, apart from these, of its neighbours,
    ``by_kind`` those of each relation and at each end apart too; ``before``: by mixed rows, or in-edges alone. ``rare``: whether
    these are ROC AUCs, see `LinearTest`."""

    hops: int
    by_turns: bool
    by_kind: bool
    share: float
    before: float
    rare: bool


def apart_rows(
    dataset: Dataset, ends: Sequence[str], unit_of: UnitOf, usual: int, most: int, memory: int = 0
) -> ApartRows | None:
    """Try rows that are mixed over the ``usual`` hops, twice as many, and so on to ``most``, beside those of neighbours of each
    relation and at each of ``ends`` (in, out).

    None where that is not clearly better, of several relations where it is clearly worse, and where nothing can be said: of one
    relation and end, large graphs, few nodes, or nodes of several classes, see `Tried.several`. ``unit_of``, ``memory``: see
    `graph.hops.tried`. Raises UserError for a damaged dataset, RunError for a file that cannot be read.
    """
    relations, width = dataset.manifest.relations, min(WIDTH, whole_width(dataset, memory))
    test = linear_test(dataset) if relations * len(ends) > 1 and width else None
    if test is None or test.several:
        return None
    asked, kinds = len(test.train) + len(test.valid), HOPS * relations * len(ends)
    narrow = min(MOST_NUMBERS // (asked * (1 + kinds)), MOST_MADE // (dataset.manifest.nodes * kinds))
    most = most_hops(dataset, ends, width, most)
    if narrow < LEAST_WIDTH or most < usual:
        return None
    rows, stored = drawn_rows(dataset.manifest.nodes, width), whole_lists(dataset)
    sides = [stored.facing(end) for end in ends]
    near = whole_lists(dataset, unit_of(dataset)).facing("both" if len(ends) > 1 else ends[0])

    def mixed(begun: Floats) -> float:
        return test.of(near.mixed(near.mixed(begun)))

    def apart(begun: Floats) -> float:
        return max(shares_by_hops(test, begun, [near], HOPS))

    def by_kind(begun: Floats) -> float:
        each = (lists.of_relation(r) for lists in sides for r in range(relations))
        return max(shares_by_hops(test, begun[:, :narrow], each, HOPS))

    def found(share_of: Callable[[Floats], float], along: Sequence[WholeLists]) -> ApartRows:
        share, hops = _best(share_of, partial(_walk, along), rows, usual, most, test.asked)
        return ApartRows(hops, len(along) > 1, share_of is by_kind, share, before, test.rare)

    before, _ = _best(mixed, partial(_walk, [near]), rows, usual, most, test.asked)
    if len(ends) > 1:
        before = max(before, max(shares_by_hops(test, as_begun(walked(rows, sides[0], usual)), sides[:1], HOPS)))
    told = max((found(by_kind, along) for along in ([near], sides)[: len(ends)]), key=lambda each: each.share)
    plain = found(apart, [near])
    best = plain if clear(plain.share, told.share, test.asked) else told
    # Of several relations rgcn learns more than linear models of so few nodes tell, and gcn less.
    as_good = relations > 1 and best.by_kind and not clear(before, best.share, test.asked)
    return best if as_good or clear(best.share, before, test.asked) else None


def _best(
    share_of: Callable[[Floats], float], walk: Callable[[Floats, range], Floats], rows: Floats, usual: int, most: int, asked: int
) -> tuple[float, int]:
    """Return the share after the fewest hops that are hardly worse than any, and these. They are doubled from the ``usual`` ones
    as long as that is better."""
    shares, hops = list[float](), usual
    while hops <= most:
        rows = walk(rows, range(hops // 2 if shares else 0, hops))
        shares.append(share_of(as_begun(rows)))
        if shares[-1] < max(shares) or shares[-1] in shares[:-1]:
            break
        hops *= 2
    doublings = next(at for at, share in enumerate(shares) if not clear(max(shares), share, asked))
    return shares[doublings], usual << doublings


def _walk(sides: Sequence[WholeLists], rows: Floats, hops: range) -> Floats:
    """Return rows after these hops. Where there are two ``sides``, half of the columns walk along the first in the first hop,
    the others along the second, and so on by turns."""
    parts = np.array_split(rows, len(sides), axis=1)
    for hop in hops:
        parts = [walked(part, sides[(hop + half) % len(sides)], 1) for half, part in enumerate(parts)]
    return np.concatenate(parts, 1)
