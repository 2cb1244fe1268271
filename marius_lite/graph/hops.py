"""Try linear models of features and of what neighbours have: do nodes say more apart from their neighbours, or mixed with them,
over how many hops, and at which ends of edges? A network trained on the same takes minutes; these take seconds, and rank the
same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from marius_lite.config.inputs import FIRST_HOPS
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.feature_sample import sampled
from marius_lite.graph.first_hops import WalkedRows, walked_rows
from marius_lite.graph.graph_sample import GraphSample, graph_sample
from marius_lite.graph.linear_test import FEWER, LinearTest, clear, noise
from marius_lite.graph.whole_lists import Floats, UnitOf, WholeLists

HOPS, MOST_HOPS = 4, 12
"""Hops that are tried, and where more than two of nodes that are mixed are clearly better."""
SURELY = 2.0
"""Standard errors by which nodes mixed with neighbours must be better for a model that cannot tell these apart: where features
say nothing, the best of several hops is better by one."""
HARDLY_WRONG = 0.95
"""The share of right answers by features from which on it is not tried what else could tell classes."""
FEWER_PAIRS = 0.1
"""The share of wrongly ranked pairs that must be ranked right for more columns to be better where nodes have several classes."""
LEAST_RANKED = 100
"""Validation nodes of several classes below which their ranks say nothing."""
MOST_COLUMNS = 2_048
"""Columns that stand side by side where the neighbours of each relation, or of more than two hops, are apart."""


@dataclass(frozen=True)
class Shares:
    """Shares of right answers ``apart`` and ``mixed``, see `Tried`.

    ``counted``, ``counted_mixed``: where the number of a node's neighbours stands beside ``apart`` or two hops of ``mixed``;
    ``plain``: the better of these without it. They are ROC AUCs where nodes have several classes. ``neighbours``: their mean
    number.
    """

    apart: float
    mixed: tuple[float, ...]
    plain: float
    counted: float
    counted_mixed: float
    neighbours: float

    @property
    def best_counted(self) -> float:
        """The better of both ways beside the number of neighbours."""
        return max(self.counted, self.counted_mixed)


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
    see `LinearTest`. ``counted``: what the number of a node's neighbours says beside these; None where that was not tried.
    ``placed``: what is said by rows that tell where a node is, whatever its features; None where that was not tried. ``logs``:
    whether all this is said of logarithms of columns with long tails, which are clearly better. ``bent_apart``, ``bent_mixed``:
    ``apart`` and ``mixed`` of two hops, also with random units beside them. ``deeper``, ``related_deeper``: as ``apart`` and
    ``related``, of 3, 4, ... hops; empty where that was not tried.
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
    counted: Shares | None = None
    placed: WalkedRows | None = None
    logs: bool = False
    bent_apart: float = 0.0
    bent_mixed: float = 0.0
    deeper: tuple[float, ...] = ()
    related_deeper: tuple[float, ...] = ()

    def told(self, share: float) -> str:
        """Say what a share means."""
        if self.rare:
            return f"linear models rank the classes of validation nodes with a mean ROC AUC of {share:.3f}"
        return f"linear models tell {share:.0%} of the validation nodes right"

    def shown(self, share: float) -> str:
        """Return the share as messages have it beside another, of which `told` says what it means."""
        return f"{share:.3f}" if self.rare else f"{share:.0%}"

    @property
    def best(self) -> float:
        """The best share by edges whatever their relations."""
        return max(self.own, self.apart, *self.mixed)

    @property
    def most(self) -> float:
        """``best``, or that beside the number of neighbours."""
        return self.best if self.counted is None or self.several else max(self.best, self.counted.best_counted)

    @property
    def unlike(self) -> bool | None:
        """Whether a node must be told from its neighbours. None where neither is clearly better, or features say little."""
        if self.better_inputs == "embeddings":
            return None
        if self.depth > 2:
            return True
        apart, mixed = max(self.own, self.apart, self.bent_apart), max(*self.mixed, self.bent_mixed)
        if self.counted is not None and not self.several and self.better_counted:
            apart, mixed = max(apart, self.counted.counted), max(mixed, self.counted.counted_mixed)
        if self._clear(apart, mixed):
            return True
        surely = mixed - apart > SURELY * noise(mixed, apart, self.asked)
        return False if surely and self._clear(mixed, apart) else None

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
    def better_counted(self) -> bool:
        """Whether nodes are clearly told better by how many neighbours they have, beside all else."""
        if self.counted is None:
            return False
        if self.several:  # ranks of many classes at once differ less by chance
            right = self.counted.best_counted - self.counted.plain > FEWER_PAIRS * (1 - self.counted.plain)
            return right and self.asked >= LEAST_RANKED
        return self._clear(self.counted.best_counted, self.uncounted)

    @property
    def uncounted(self) -> float:
        """What ``counted`` is compared with."""
        if self.several:
            return self.counted.plain if self.counted else 0.0
        return max(self.best, self.counted.plain if self.counted else 0.0)

    @property
    def depth(self) -> int:
        """Over how many hops neighbours say clearly more than all else, each hop apart from the others; 2 where they do not."""
        best = max(self.far, default=0.0)
        if not self._clear(best, self.near):
            return 2
        least = best - noise(best, best, self.asked) / 2
        return next(hop for hop, share in enumerate(self.far, start=3) if share >= least)

    @property
    def far(self) -> tuple[float, ...]:
        """Of ``deeper`` and ``related_deeper`` those that go with what is better over two hops."""
        return self.related_deeper if self.better_related else self.deeper

    @property
    def near(self) -> float:
        """The best share of all that features and numbers of neighbours say, without ``deeper``."""
        others = (self.related, self.unweighted, self.counted.plain if self.counted else None)
        return max(self.most, self.bent_apart, self.bent_mixed, *(each or 0.0 for each in others))

    @property
    def by_features(self) -> float:
        """The best share of all that features and numbers of neighbours say."""
        return max(self.near, *self.deeper, *self.related_deeper, 0)

    @property
    def better_inputs(self) -> str | None:
        """The `model.inputs`, embeddings or both, that leave a fifth fewer wrong answers than features. None: none do."""
        if self.placed is None or self.several:
            return None
        if self._far_better(self.placed.beside, max(self.by_features, self.placed.alone)):
            return "both"
        return "embeddings" if self._far_better(self.placed.alone, self.by_features) else None

    def _far_better(self, more: float, less: float) -> bool:
        return self._clear(more, less) and 1 - more <= (1 - FEWER) * (1 - less)

    @property
    def better_related(self) -> bool:
        """Whether the neighbours of each relation, or at either end, say clearly more apart from the others'."""
        far = max(self.related_deeper, default=0.0)
        return self._clear(self.related or 0.0, self.best) or self._clear(far, max(self.near, *self.deeper, 0))


def tried(
    dataset: Dataset, directions: Sequence[str], unit_of: UnitOf = lambda _: None, counts: bool = True, memory: int = 0
) -> Tried | None:
    """Try them. ``directions``: values of `model.directions` that are tried, the usual one first. ``unit_of``: returns the weight
    of an edge that counts as one, None where all count alike; it is asked where something is tried. None where the graph is too
    large, or there are too few training and validation nodes. ``counts``: whether the number of a node's neighbours may be shown.

    ``memory``: bytes, of which a part may be taken to look at a larger graph as a whole, see `whole_width`. Of graphs that are
    larger still some nodes are looked at, with some of their neighbours of two hops. Takes 300 MB at least. Raises UserError for
    a damaged dataset, RunError for a file that cannot be read.
    """
    sample = graph_sample(dataset, directions, unit_of, memory)
    if sample is None:
        return None
    test, count = sample.test, sample.test.asked
    rows, logs = _best_rows(dataset, sample)
    own = test.of(rows)
    by_ends = {ends: _shares(sample, rows, sample.facing(ends)) for ends in directions}
    seen = counts and not test.several
    best = {ends: max(own, each.apart, *each.mixed, each.best_counted if seen else 0) for ends, each in by_ends.items()}
    usual, most = directions[0], max(reversed(directions), key=lambda ends: best[ends])
    chosen = most if clear(best[most], best[usual], count) else usual
    one_way, shares = best[usual] if chosen != usual else None, by_ends[chosen]
    found = Tried(own, shares.apart, shares.mixed, None, count, directions=chosen, one_way=one_way)
    found = replace(found, several=test.several, rare=test.rare, counted=shares if counts else None, logs=logs)
    if sample.unit:
        alike = _shares(sample, rows, sample.alike(chosen))
        found = replace(found, unweighted=max(own, alike.apart, *alike.mixed))
    found = _more_said(found, sample, rows, directions[-1])
    for ends in dict.fromkeys([chosen, *directions[-1:]]):
        near, *deeper = _related(sample, rows, dataset.manifest.relations, ends, found.by_features) or (0.0,)
        if near and (found.related is None or clear(max(near, *deeper, 0), max(found.related, *found.related_deeper, 0), count)):
            found = replace(found, related=near, related_deeper=tuple(deeper), related_directions=ends)
    if found.hops == 2 or not sample.whole:
        return found
    return replace(found, mixed=_mixed(test, rows, sample.facing(chosen), MOST_HOPS))


def _best_rows(dataset: Dataset, sample: GraphSample) -> tuple[Floats, bool]:
    """Return the features, or the logarithms of columns with long tails where these are clearly better; and whether they are."""
    assert dataset.features is not None
    rows, found, test = sample.rows(None), sampled(dataset.features), sample.test
    if not found.tailed:
        return rows, False
    logs, lists = sample.rows(found.units), sample.facing("in")
    better = clear(test.of(logs, lists.means(logs)), test.of(rows, lists.means(rows)), test.asked)
    return (logs if better else rows), better


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


def _related(sample: GraphSample, rows: Floats, relations: int, directions: str, known: float) -> tuple[float, ...]:
    """Return what `_by_hops` does for nodes and, apart from them, their neighbours of each relation and at either end."""
    ends = ("in", "out") if directions == "both" else (directions,)
    if relations * len(ends) == 1:
        return ()
    by_ends = [sample.alike(end) for end in ends]
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
    asked = np.union1d(test.train, test.valid)
    parts: list[list[Floats]] = [[] for _ in range(hops)]
    for lists in kinds:
        values = rows
        for near in parts:
            values = lists.means(values)
            near.append(values[asked])
    test, seen, shares = test.placed(asked), [rows[asked]], list[float]()
    for near in parts:
        seen += near
        shares.append(max(test.of(*seen, hidden=bent) for bent in {False, hidden}))
    return (max(shares[:2]), *shares[2:])


def _shares(sample: GraphSample, rows: Floats, lists: WholeLists) -> Shares:
    """Try nodes apart from their neighbours, mixed with them by hops, and beside the number of their neighbours."""
    test, degrees = sample.test, lists.counts()
    mean, by_ranks = float(degrees[sample.usual].mean()), test.several
    seen = np.log((1 + degrees) / (1 + mean)).astype(np.float32)[:, None]
    beside = np.concatenate([seen, seen**2], 1)

    def of(*parts: Floats) -> npt.NDArray[np.float64]:
        """The share as for `Tried`, that which is compared with the number of neighbours beside, and that with it."""
        share = test.of(*parts)
        plain = test.of(*parts, by_ranks=True) if by_ranks else share
        return np.array([share, plain, test.of(*parts, beside, by_ranks=by_ranks)])

    near = lists.means(rows)
    apart, plain, counted = np.maximum(of(rows, near), of(rows, near, lists.means(near))).tolist()
    del near
    one = lists.mixed(rows)
    two = lists.mixed(one)
    share, plain_mixed, counted_mixed = of(two).tolist()
    mixed = (test.of(one), share, *(_mixed(test, two, lists, HOPS - 2) if sample.whole else ()))
    return Shares(apart, mixed, max(plain, plain_mixed), counted, counted_mixed, mean)


def _mixed(test: LinearTest, rows: Floats, lists: WholeLists, hops: int) -> tuple[float, ...]:
    """Return the shares of right answers after 1, 2, ... hops. Two in a row that are worse than the best end it."""
    shares = list[float]()
    while len(shares) < hops and (len(shares) < HOPS or max(shares[-2:]) == max(shares)):
        rows = lists.mixed(rows)
        shares.append(test.of(rows))
    return tuple(shares)
