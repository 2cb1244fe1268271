"""Try linear models of features and of what neighbours have: do nodes say more apart from their neighbours, or mixed with them,
over how many hops, and at which ends of edges? A network trained on the same takes minutes; these take seconds, and rank the
same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.graph.adjacency import as_factors, sums_by_list
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.node_columns import Labels

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
WIDTH = 256
"""The most columns of features; wider ones become so many of their principal components."""
HOPS, MOST_HOPS = 4, 12
"""Hops that are tried, and where more than two are clearly better."""
MOST_NODES, MOST_EDGES, MOST_CLASSES = 50_000, 4_000_000, 1_000
"""Of larger graphs nothing is tried: it would take over 300 MB, or longer than some epochs."""
MOST_ROWS = 8_000
"""Training and validation nodes that are looked at."""
FEWEST = 20
"""Validation nodes below which their figure means nothing."""
LEAST = 0.02
"""The least difference of two shares of right answers that means something, unless it is a FEWER of the wrong ones."""
FEWER = 0.2
"""The share of the wrong answers that a better model must get right where few are wrong, and more hops than two always."""
SHRINKAGES = (0.01, 0.1, 1.0, 10.0)
"""Factors of the identity that is added to the covariance of standardised columns. The best one counts."""
MOST_COLUMNS = 2_048
"""Columns that stand side by side where the neighbours of each relation are apart."""
AT_ONCE = 100_000
"""Edges whose sources' rows are gathered at a time."""


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
    right, whatever the hops, so that shares say little about how many of these are best.
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
        return _clear(more, less, self.asked)

    @property
    def hops(self) -> int:
        """The least hops that are hardly worse than any. 2 unless more of them leave clearly fewer wrong answers."""
        two, near = self.mixed[1], max(self.mixed[1:HOPS])
        if not self._clear(near, two) or near - two <= FEWER * (1 - two):
            return 2
        least = (best := max(self.mixed[1:])) - _noise(best, best, self.asked) / 2
        return next(hop for hop, share in enumerate(self.mixed[1:], start=2) if share >= least)

    @property
    def better_unweighted(self) -> bool:
        """Whether neighbours clearly say more where all edges count alike, whatever their weights."""
        return self.unweighted is not None and self._clear(self.unweighted, self.best)

    @property
    def better_related(self) -> bool:
        """Whether the neighbours of each relation, or at either end, say clearly more apart from the others'."""
        return self.related is not None and self._clear(self.related, self.best)


def _noise(share: float, other: float, asked: int) -> float:
    """Return the standard error of the difference of two shares of so many answers. It is small where hardly any are wrong."""
    return sqrt((share * (1 - share) + other * (1 - other)) / asked)


def _clear(more: float, less: float, asked: int) -> bool:
    """Return whether one share of so many answers is clearly above another."""
    return more - less > max(_noise(more, less, asked), min(LEAST, FEWER * (1 - less)))


def tried(dataset: Dataset, directions: Sequence[str], unit: float | None = None) -> Tried | None:
    """Try them. ``directions``: values of `model.directions` that are tried, the usual one first. ``unit``: the weight of an edge
    that counts as one; None where all count alike. None where the graph is too large, or there are too few training and
    validation nodes.

    Takes 60 bytes an edge and 6 KB a node at most. Raises UserError for a damaged dataset, RunError for a file that cannot be
    read.
    """
    labels, splits, features = dataset.labels, dataset.node_splits, dataset.features
    size, counts = dataset.manifest, dataset.node_counts
    if labels is None or splits is None or features is None or dataset.adjacency is None or labels.classes > MOST_CLASSES:
        return None
    if size.nodes > MOST_NODES or size.edges["train"] > MOST_EDGES or min(counts["train"], counts["valid"]) < FEWEST:
        return None
    train, valid = (_thinned(splits.nodes(name)) for name in ("train", "valid"))
    known, asked = _classes(dataset, train), _classes(dataset, valid)
    test = _Test(train, valid, known, asked)
    lists = _lists(dataset, unit)
    rows, count = _rows(dataset), len(valid)
    own = test.of(rows)
    by_ends = {ends: _shares(test, rows, lists.facing(ends)) for ends in directions}
    best = {ends: max(own, apart, *mixed) for ends, (apart, mixed) in by_ends.items()}
    usual, most = directions[0], max(reversed(directions), key=lambda ends: best[ends])
    chosen = most if _clear(best[most], best[usual], count) else usual
    one_way = best[usual] if chosen != usual else None
    several = bool((known.sum(1) > 1).any())
    found = Tried(own, *by_ends[chosen], None, count, directions=chosen, one_way=one_way, several=several)
    if unit:
        either, shares = _shares(test, rows, _lists(dataset).facing(chosen))
        found = replace(found, unweighted=max(own, either, *shares))
    for ends in dict.fromkeys([chosen, *directions[-1:]]):
        share = _related(test, rows, lists, size.relations, ends)
        if share is not None and (found.related is None or _clear(share, found.related, count)):
            found = replace(found, related=share, related_directions=ends)
    return replace(found, mixed=_mixed(test, rows, lists.facing(chosen), MOST_HOPS)) if found.hops > 2 else found


def _related(test: _Test, rows: Floats, lists: _Lists, relations: int, directions: str) -> float | None:
    """Return the share of right answers by nodes and, apart from them, their neighbours of each relation and at either end.

    None where all are alike, or there are too many.
    """
    ends = ("in", "out") if directions == "both" else (directions,)
    if not 1 < relations * len(ends) <= (MOST_COLUMNS / rows.shape[1] - 1) / 2:
        return None
    each = [lists.of_relation(r).facing(end) for end in ends for r in range(relations)]
    near = [of_one.means(rows) for of_one in each]
    return max(test.of(rows, *near), test.of(rows, *near, *(of_one.means(part) for of_one, part in zip(each, near))))


def _shares(test: _Test, rows: Floats, lists: _Lists) -> tuple[float, tuple[float, ...]]:
    """Return the shares of right answers of nodes apart from their neighbours, and mixed with them by hops."""
    near = lists.means(rows)
    apart = max(test.of(rows, near), test.of(rows, near, lists.means(near)))
    del near
    return apart, _mixed(test, rows, lists, HOPS)


def _mixed(test: _Test, rows: Floats, lists: _Lists, hops: int) -> tuple[float, ...]:
    """Return the shares of right answers after 1, 2, ... hops."""
    shares = []
    for _ in range(hops):
        rows = lists.mixed(rows)
        shares.append(test.of(rows))
    return tuple(shares)


@dataclass(frozen=True)
class _Lists:
    """In-edges: those of node t come from sources[indptr[t]:indptr[t + 1]]. ``rel``: their relations, where there are several.
    ``factors``: what each counts; None where all count alike."""

    indptr: Ints
    sources: npt.NDArray[Any]
    rel: npt.NDArray[Any] | None = None
    factors: Floats | None = None

    def of_relation(self, relation: int) -> _Lists:
        """Return the lists with the edges of one relation alone, which all count alike."""
        if self.rel is None:
            return _Lists(self.indptr, self.sources)
        kept = self.rel == relation
        before = np.concatenate([[0], np.cumsum(kept)])
        return _Lists(before[self.indptr], self.sources[kept])

    def facing(self, directions: str) -> _Lists:
        """Return the lists of what edges come from (in), of what they lead to (out), or of both, without relations."""
        if directions == "in":
            return self
        nodes, both = len(self.indptr) - 1, directions == "both"
        targets = np.repeat(np.arange(nodes, dtype=self.sources.dtype), np.diff(self.indptr))
        ends, others = (
            (np.concatenate(pair) if both else pair[0]) for pair in ((self.sources, targets), (targets, self.sources))
        )
        order = np.argsort(ends, kind="stable")
        counts = np.bincount(ends, minlength=nodes)
        factors = None if self.factors is None else np.tile(self.factors, 1 + both)[order]
        return _Lists(np.concatenate([[0], np.cumsum(counts)]), others[order], factors=factors)

    def means(self, rows: Floats) -> Floats:
        out: Floats = np.zeros_like(rows)
        for low, high, sums in self._sums(rows):
            out[low:high] = sums
        counts = self._counts()
        out /= np.where(counts > 0, counts, 1).astype(np.float32)[:, None]
        return out

    def _counts(self) -> npt.NDArray[Any]:
        """Return what the edges of each node count together."""
        return np.diff(self.indptr) if self.factors is None else sums_by_list(self.indptr, self.factors)

    def mixed(self, rows: Floats) -> Floats:
        """Return the rows after a hop of GCN: each node has an edge to itself, edges weigh by the degrees of both ends."""
        roots: Floats = (1 / np.sqrt(self._counts() + 1)).astype(np.float32)[:, None]
        rows = rows * roots
        for low, high, sums in self._sums(rows.copy()):
            rows[low:high] += sums
        rows *= roots
        return rows

    def _sums(self, rows: Floats) -> Iterator[tuple[int, int, Floats]]:
        """Yield (first node, node after the last, sums of the rows of their neighbours)."""
        low, nodes = 0, len(self.indptr) - 1
        while low < nodes:
            most = int(np.searchsorted(self.indptr, self.indptr[low] + AT_ONCE, side="right")) - 1
            high = min(nodes, max(low + 1, most))
            bounds = self.indptr[low : high + 1] - self.indptr[low]
            sums = np.zeros((high - low, rows.shape[1]), np.float32)
            linked = np.diff(bounds) > 0
            if linked.any():
                edges = slice(self.indptr[low], self.indptr[high])
                gathered = rows[self.sources[edges]]
                if self.factors is not None:
                    gathered *= self.factors[edges, None]
                sums[linked] = np.add.reduceat(gathered, bounds[:-1][linked], axis=0)
            yield low, high, sums
            low = high


class _Test:
    """Ridge regression on the classes of ``train``, asked for those of ``valid``. ``known``, ``asked``: their classes, as rows of
    0 and 1."""

    def __init__(self, train: Ints, valid: Ints, known: Floats, asked: Floats):
        self._train, self._valid, self._known, self._asked = train, valid, known, asked

    def of(self, *parts: Floats) -> float:
        """Return the share of right answers by columns that stand side by side."""
        trained, asked = (np.concatenate([part[nodes] for part in parts], 1) for nodes in (self._train, self._valid))
        mean, spread = trained.mean(0), trained.std(0)
        spread[spread <= 1e-6 * np.abs(trained).max(initial=1e-30)] = 1.0
        trained, asked = ((rows - mean) / spread for rows in (trained, asked))
        middle = self._known.mean(0)
        wanted = self._known - middle
        # Of rows and columns, the fewer make the matrix whose eigenvectors give the answer for each shrinkage.
        across = len(trained) < trained.shape[1]
        square = trained @ trained.T if across else trained.T @ trained
        values, vectors = np.linalg.eigh(square.astype(np.float64))
        seen = vectors.T @ (wanted if across else trained.T @ wanted)
        there = (asked @ trained.T if across else asked) @ vectors
        answers = ((there / (np.maximum(values, 0) + each * len(trained))) @ seen + middle for each in SHRINKAGES)
        return max(float(self._asked[np.arange(len(found)), found.argmax(1)].mean()) for found in answers)


def _thinned(nodes: Ints) -> Ints:
    return nodes[:: -(-len(nodes) // MOST_ROWS)]


def _classes(dataset: Dataset, nodes: Ints) -> Floats:
    """Return the classes of nodes as rows of 0 and 1."""
    labels, rows = dataset.labels, dataset.partitioning.rows
    assert labels is not None
    out = np.zeros((len(nodes), labels.classes), np.float32)
    for k in np.unique(nodes // rows).tolist():
        here = np.flatnonzero(nodes // rows == k)
        found = labels.reader(k)(nodes[here] - k * rows)
        if isinstance(labels, Labels):
            out[here, found] = 1
        else:
            out[here] = found
    return out


def _lists(dataset: Dataset, unit: float | None = None) -> _Lists:
    assert dataset.adjacency is not None
    parts = [dataset.adjacency.read(k, weights=unit is not None) for k in range(dataset.partitioning.partitions)]
    indptr = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.indptr) for part in parts]))])
    rel = None if parts[0].rel is None else np.concatenate([part.rel for part in parts if part.rel is not None])
    weights = [part.weights for part in parts if part.weights is not None]
    factors = as_factors(np.concatenate(weights), unit) if unit else None
    return _Lists(indptr, np.concatenate([part.sources for part in parts]), rel, factors)


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
