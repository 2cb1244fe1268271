"""Try linear models of features and of what neighbours have: do nodes say more apart from their neighbours, or mixed with them,
over how many hops, and at which ends of edges? A network trained on the same takes minutes; these take seconds, and rank the
same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import ceil

import numpy as np
import numpy.typing as npt

from marius_lite.config.inputs import FIRST_HOPS
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.feature_sample import CODES, Codes, FeatureSample, sampled
from marius_lite.graph.first_hops import walked_rows
from marius_lite.graph.graded import ranges_of_weights
from marius_lite.graph.graph_sample import GraphSample, graph_sample
from marius_lite.graph.known_shares import by_kinds, classes_of_trained, known_shares
from marius_lite.graph.linear_shares import HOPS, SURELY, KnownShares, Shares, Tried
from marius_lite.graph.linear_test import SATURATED, LinearTest, clear, noise, shares_by_hops
from marius_lite.graph.symmetry import each_end
from marius_lite.graph.whole_lists import Floats, UnitOf, WholeLists, degree_columns, whole_lists

MOST_HOPS = 12
"""Hops that are tried where more than two of nodes that are mixed are clearly better."""
HARDLY_WRONG = 0.95
"""The share of right answers by features from which on it is not tried what else could tell classes."""
MOST_OF_COLUMN = (24, CODES[-1])
"""How many codes a column has whose codes are tried: first those of few, which say more than they cost."""
DRAWN, MOST_TAKEN = 15, 1_000_000
"""How many neighbours of a node sage's preset draws, and of how many edges a graph may be for all of them to be taken."""
MOST_COLUMNS = 2_048
"""Columns that stand side by side where the neighbours of each relation, or of more than two hops, are apart."""


def tried(
    dataset: Dataset,
    directions: Sequence[str],
    unit_of: UnitOf = lambda _: None,
    counts: bool = True,
    memory: int = 0,
    known: bool = True,
) -> Tried | None:
    """Try them. ``directions``: values of `model.directions` that are tried, the usual one first. ``unit_of``: returns the weight
    of an edge that counts as one, None where all count alike; it is asked where something is tried. None where the graph is too
    large, or there are too few training and validation nodes. ``counts``, ``known``: whether the number of a node's
    neighbours, and the classes of training nodes, may be shown.

    ``memory``: bytes, of which a part may be taken to look at a larger graph as a whole, see `whole_width`. Of graphs that are
    larger still some nodes are looked at, with some of their neighbours of two hops. Takes 300 MB at least. Raises UserError for
    a damaged dataset, RunError for a file that cannot be read.
    """
    sample = graph_sample(dataset, directions, unit_of, memory)
    if sample is None or dataset.features is None:
        return None
    kinds = sampled(dataset.features)
    rows, logs, codes = _best_rows(kinds, sample)
    if sample.test.rare and sample.test.of(rows, sample.facing(directions[0]).means(rows)) >= SATURATED:
        sample = replace(sample, test=sample.test.by_precision())
    test, count = sample.test, sample.test.asked
    own = test.of(rows)
    by_ends = {ends: _shares(sample, rows, ends, sample.facing) for ends in directions}
    alike = {ends: _shares(sample, rows, ends, sample.alike) for ends in directions} if sample.unit else by_ends
    seen = counts and not test.several

    def of(shares: Shares) -> float:
        return max(own, shares.apart, *shares.mixed, shares.best_counted if seen else 0)

    best = {ends: max(of(by_ends[ends]), of(alike[ends])) for ends in directions}
    usual, most = directions[0], max(reversed(directions), key=lambda ends: best[ends])
    chosen = most if clear(best[most], best[usual], count) else usual
    one_way, shares = best[usual] if chosen != usual else None, by_ends[chosen]
    found = Tried(own, shares.apart, shares.mixed, None, count, directions=chosen, one_way=one_way)
    found = replace(found, several=test.several, rare=test.rare, precise=test.precise, counted=shares if counts else None)
    found = replace(found, logs=logs, codes=codes)
    if sample.unit:
        found = replace(found, unweighted=max(own, alike[chosen].apart, *alike[chosen].mixed))
        if counts and found.better_unweighted:
            found = replace(found, counted=alike[chosen])
    if kinds.counts or test.several:
        near = sample.facing(chosen)
        twice = near.mixed(near.mixed(rows))
        found = replace(found, shrinkage=test.shrinkage(twice) if kinds.counts else None)
        found = replace(found, several_shrinkage=test.shrinkage(twice, sizes=False) if test.several else None)
    found = _more_said(found, sample, rows, directions[-1])
    found = _by_kinds(found, dataset, sample, rows, list(dict.fromkeys([chosen, *directions[-1:]])))
    found = replace(found, known=_by_known(found, dataset, sample, rows, directions) if known else None)
    found = replace(found, drawn=_of_drawn(found, dataset, sample, rows))
    if found.hops == 2 or not sample.whole:
        return found
    return replace(found, mixed=_mixed(test, rows, sample.facing(chosen), MOST_HOPS))


def _by_known(found: Tried, dataset: Dataset, sample: GraphSample, rows: Floats, directions: Sequence[str]) -> KnownShares | None:
    """Return what is said by which neighbours are training nodes of which class. None where nodes have several classes, or there
    are many, or features leave next to nothing to say."""
    if found.by_features >= HARDLY_WRONG or (classes := classes_of_trained(dataset, sample.nodes)) is None:
        return None
    test, relations = sample.test, dataset.manifest.relations
    asked = np.union1d(test.train, test.valid)

    def of(ends: str) -> KnownShares:
        near = sample.facing(ends)
        together = near.without_loops().means(classes)[asked]
        apart = by_kinds([classes], ends, relations, lambda end: sample.alike(end).without_loops(), asked)
        return known_shares(test.placed(asked), [rows[asked], near.means(rows)[asked]], ends, [together], apart)

    return max(map(of, directions), key=lambda known: known.share)


def _by_kinds(found: Tried, dataset: Dataset, sample: GraphSample, rows: Floats, directions: Sequence[str]) -> Tried:
    """Add what is said where the neighbours of each relation are apart, perhaps those at either end, or of each range of
    weights; also beside their number at each end."""
    for bounds in [[], *(ranges_of_weights(dataset) if sample.whole else [])]:
        lists_of = whole_lists(dataset, None, bounds).facing if bounds else sample.alike
        kinds = dataset.manifest.relations * (1 + len(bounds))
        for ends in directions:
            near, *deeper = _related(sample, rows, lists_of, kinds, ends, found.by_features) or (0.0,)
            share, before = max(near, *deeper, 0), max(found.related or 0, *found.related_deeper, 0)
            if near and (found.related is None or clear(share, before, sample.test.asked)):
                found = replace(found, related=near, related_deeper=tuple(deeper), related_directions=ends)
                found = replace(found, related_bounds=tuple(bounds))
                if found.counted is not None:
                    numbers, mean = _numbers(sample, ends, sample.alike)
                    wider = np.concatenate([rows, numbers], 1)
                    counted = _related(sample, wider, lists_of, kinds, ends, HARDLY_WRONG)
                    found = replace(found, related_counted=(counted[0], mean) if counted else None)
    return found


def _of_drawn(found: Tried, dataset: Dataset, sample: GraphSample, rows: Floats) -> tuple[float, float] | None:
    """Return the shares by all neighbours and by DRAWN of each node, as ``found`` takes them; None where nodes have no more, or
    graphs are large."""
    related, bounds = found.better_related, found.related_bounds
    ends = found.related_directions if related else found.directions
    edges = dataset.manifest.edges["train"] * (1 + (ends == "both"))
    if not sample.whole or not DRAWN * len(rows) < edges <= MOST_TAKEN:
        return None
    lists_of = sample.facing if not related else whole_lists(dataset, None, bounds).facing if bounds else sample.alike
    each = [lists_of(end) for end in (each_end(ends) if related else (ends,))]
    kinds = range(dataset.manifest.relations * (1 + len(bounds)))

    def share(each: Iterable[WholeLists]) -> float:
        near = (lists.of_relation(r) for lists in each for r in kinds) if related else each
        return sample.test.of(rows, *(lists.means(rows) for lists in near))

    return share(each), share(lists.drawn(ceil(DRAWN / len(each))) for lists in each)


def _best_rows(found: FeatureSample, sample: GraphSample) -> tuple[Floats, bool, Codes]:
    """Return the features; or the logarithms of columns with long tails, unless the features are clearly better, and a 0 or 1 for
    each code of columns beside them, where these are clearly better. Also whether they are logarithms, and the codes.

    Means of many columns tell groups of neighbours apart, whatever the columns say. So codes must surely be better than as many
    columns of chance, too.
    """
    test, lists = sample.test, sample.facing("in")

    def share(rows: Floats) -> float:
        return test.of(rows, lists.means(rows))

    rows, units, codes = sample.rows(None, {}), None, dict[int, Sequence[int]]()
    if found.tailed and not clear(share(rows), share(shown := sample.rows(found.units, {})), test.asked):
        rows, units = shown, found.units
    for most in MOST_OF_COLUMN:
        asked = {column: each for column, each in found.codes.items() if len(each) <= most}
        if len(asked) > len(codes) and clear(more := share(shown := sample.rows(units, asked)), share(rows), test.asked):
            chance = np.random.default_rng(0).standard_normal((len(rows), shown.shape[1] - rows.shape[1]), np.float32)
            by_chance = share(np.concatenate([rows, chance], 1))
            if more - by_chance > SURELY * noise(more, by_chance, test.asked):
                rows, codes = shown, asked
    return rows, units is not None, codes


def _more_said(found: Tried, sample: GraphSample, rows: Floats, ends: str) -> Tried:
    """Add what random units say, and, where features leave more than a few wrong, first rows along ``ends``."""
    test = sample.test
    if not test.several:
        near = sample.facing(found.directions)
        bent, *deeper = _by_hops(sample, rows, 1, [near], found.by_features, hidden=True) or (0.0,)
        mixed = test.of(near.mixed(near.mixed(rows)), hidden=True)
        found = replace(found, bent_apart=bent, bent_mixed=mixed, deeper=tuple(deeper))
    if max(found.best, found.bent_apart, found.bent_mixed) >= HARDLY_WRONG:
        return found
    return replace(found, placed=walked_rows(sample, rows, ends, FIRST_HOPS))


def _related(
    sample: GraphSample, rows: Floats, lists_of: Callable[[str], WholeLists], relations: int, directions: str, known: float
) -> tuple[float, ...]:
    """Return what `_by_hops` does for nodes and, apart from them, their neighbours of each relation and at either end.

    ``lists_of``: returns the lists at one end."""
    ends = each_end(directions)
    if relations * len(ends) == 1:
        return ()
    by_ends = [lists_of(end) for end in ends]
    kinds = (lists.of_relation(r) for lists in by_ends for r in range(relations))
    return _by_hops(sample, rows, relations * len(ends), kinds, known)


def _by_hops(
    sample: GraphSample, rows: Floats, count: int, kinds: Iterable[WholeLists], known: float, hidden: bool = False
) -> tuple[float, ...]:
    """Return the shares of right answers by nodes and neighbours of at most 2, 3, ... hops; those of each hop and of each of
    ``count`` kinds are apart. ``hidden``: the better of these and of these with random units beside them.

    As many hops as columns allow; nothing where these are not even two of several kinds. Of two hops alone where neighbours are
    drawn, or ``known``, the best share so far, is hardly wrong.
    """
    test, width = sample.test, rows.shape[1]
    fitting = int((MOST_COLUMNS / width - 1) / count)
    if fitting < 2 <= count:
        return ()
    hops = min(HOPS if sample.whole and known < HARDLY_WRONG else 2, max(fitting, 1))
    shares = shares_by_hops(test, rows, kinds, hops, hidden)
    return (max(shares[:2]), *shares[2:])


def _numbers(sample: GraphSample, directions: str, lists_of: Callable[[str], WholeLists]) -> tuple[Floats, float]:
    """Return columns that tell how many neighbours nodes have at each end, and how many they usually have."""
    counts = [lists_of(end).counts() for end in each_end(directions)]
    mean = float(np.mean([each[sample.usual].mean() for each in counts]))
    return np.concatenate([degree_columns(each, mean) for each in counts], 1), mean


def _shares(sample: GraphSample, rows: Floats, directions: str, lists_of: Callable[[str], WholeLists]) -> Shares:
    """Try nodes apart from their neighbours, mixed with them by hops, and both beside how many neighbours each has."""
    test, lists, by_ranks = sample.test, lists_of(directions), sample.test.several
    beside, mean = _numbers(sample, directions, lists_of)

    def of(numbers: Floats, *parts: Floats) -> npt.NDArray[np.float64]:
        """The share as for `Tried`, that which is compared with the number of neighbours beside, and that with it."""
        share = test.of(*parts)
        plain = test.of(*parts, by_ranks=True) if by_ranks else share
        return np.array([share, plain, test.of(*parts, beside, numbers, by_ranks=by_ranks)])

    near, numbers = lists.means(rows), lists.means(beside)
    apart, plain, counted = np.maximum(of(numbers, rows, near), of(numbers, rows, near, lists.means(near))).tolist()
    del near
    one = lists.mixed(rows)
    two = lists.mixed(one)
    share, plain_mixed, counted_mixed = of(lists.mixed(lists.mixed(beside)), two).tolist()
    mixed = (test.of(one), share, *(_mixed(test, two, lists, HOPS - 2) if sample.whole else ()))
    return Shares(apart, mixed, max(plain, plain_mixed), counted, counted_mixed, mean)


def _mixed(test: LinearTest, rows: Floats, lists: WholeLists, hops: int) -> tuple[float, ...]:
    """Return the shares of right answers after 1, 2, ... hops. Two in a row that are worse than the best end it."""
    shares = list[float]()
    while len(shares) < hops and (len(shares) < HOPS or max(shares[-2:]) == max(shares)):
        rows = lists.mixed(rows)
        shares.append(test.of(rows))
    return tuple(shares)
