"""Tell how many validation nodes' classes a linear model of some columns tells right. It takes seconds, and ranks columns as
networks do."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import sqrt

import numpy as np
import numpy.typing as npt

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.node_columns import Labels
from marius_lite.graph.whole_lists import WholeLists
from marius_lite.ranks import average_precision, roc_auc

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
MOST_CLASSES = 1_000
"""Classes that are tried, at most."""
MOST_ROWS = 8_000
"""Training and validation nodes that are looked at."""
FEWEST = 20
"""Training or validation nodes below which their figure means nothing."""
LEAST = 0.02
"""The least difference of two shares of right answers that means something, unless it is a FEWER of the wrong ones."""
FEWER = 0.2
"""The share of the wrong answers that a better model must get right where few are wrong."""
SCANNED, MOST_SCANNED_CLASSES = 8, 100
"""So many times MOST_ROWS nodes are looked through for those of rare classes, where there are few classes."""
STAYING = 0.92
"""The share of the nodes that are looked at which are of a frequent class at least, so that the others are RARE."""
MOST_RANKED = 100
"""Classes whose nodes are ranked, at most: more would take minutes."""
RARE, RARER_OF_TWO = 0.9, 0.8
"""The share of nodes of one class above which the others are rare, of several classes and of two: it is nearly the share of right
answers of any model that says little."""
RANKED = 2
"""Right answers that say no more of a share than one node's rank among many says of a ROC AUC (Hanley, McNeil, 1982: the variance
of a rank is A^2 (1 - A) / (1 + A), that of an answer A (1 - A))."""
SATURATED = 0.95
"""The ROC AUC from which on average precisions tell models apart."""
HIDDEN, FEW_HIDDEN = 512, 128
"""Random units between columns and classes, see `LinearTest.of`. Where each test takes some, fewer rank columns likewise."""
CLIPPED = 5.0
"""Standard deviations above which a number that units see is taken for so many."""
FEW_RARE, FEW_ASKED = 50, 200
"""Validation nodes of rarer classes, and of all where none is frequent, below which training nodes are asked for too."""
FOLDS = 5
"""Parts of all of them, of which each is asked for once, and known to the others."""
SHRINKAGES = (0.01, 0.1, 1.0, 10.0)
"""Factors of the identity that is added to the covariance of standardised columns. The best one counts."""
TOTAL = 1_000
"""The sum of the variances of columns that keep their sizes, however many there are of them."""


class LinearTest:
    """Ridge regression on the classes of ``train``, asked for those of ``valid``. ``known``, ``asked``: their classes, as rows of
    0 and 1.

    ``rare``: whether all classes but one are rare. Answers are judged by how they rank nodes, not by the share of right ones: by
    ROC AUCs, or, ``precise``, by average precisions of the rare ones. Where validation nodes are too few to tell models apart,
    training nodes are asked for too, by models that do not know them.
    """

    def __init__(self, train: Ints, valid: Ints, known: Floats, asked: Floats):
        self.train, self.valid, self._known, self._asked = train, valid, known, asked
        self._given, self.precise = (known, asked), False
        most = RARER_OF_TWO if known.shape[1] == 2 else RARE
        self.rare = not self.several and 1 > float(known.mean(0).max()) > most and 0 < self._of_rare() < len(asked)
        self._folds: list[tuple[slice | Ints, slice | Ints]] = [(slice(len(train)), slice(len(train), None))]
        few = self._of_rare() < FEW_RARE if self.rare else len(asked) < FEW_ASKED
        if few and len(train) > len(valid):
            everyone = np.concatenate([known, asked])
            dealt = np.argsort(everyone.argmax(1), kind="stable")  # as many of each class in each part
            parts = [np.sort(dealt[part::FOLDS]) for part in range(FOLDS)]
            self._folds = [(np.setdiff1d(dealt, part), part) for part in parts]
            self._asked = everyone[np.concatenate(parts)]

    def placed(self, nodes: Ints) -> LinearTest:
        """Return the same test for columns that have a row for each of ``nodes``, ascending, and not for each of the graph's."""
        other = copy.copy(self)
        other.train, other.valid = (np.searchsorted(nodes, each) for each in (self.train, self.valid))
        return other

    def by_precision(self) -> LinearTest:
        """Return the same test, judged by average precisions: where ROC AUCs are near 1, they hardly tell models apart."""
        other = copy.copy(self)
        other.precise = True
        return other

    @property
    def several(self) -> bool:
        """Whether some training nodes have several classes."""
        return bool((self._known.sum(1) > 1).any())

    @property
    def asked(self) -> int:
        """How many nodes are asked for; where classes are rare, those not of the frequent one, RANKED times for ROC AUCs."""
        return self._of_rare() * (1 if self.precise else RANKED) if self.rare else len(self._asked)

    def _of_rare(self) -> int:
        return int(len(self._asked) - self._asked[:, self._known.sum(0).argmax()].sum())

    def of(self, *parts: Floats, by_ranks: bool = False, hidden: bool = False) -> float:
        """Return the share of right answers by columns that stand side by side, or the mean ROC AUC: ``by_ranks``, and where
        classes are rare (or their mean average precision, see ``precise``).

        ``hidden``: with random units beside them, which tell thresholds and what several columns say together (extreme learning
        machines: Huang, Zhu, Siew, 2006). Where classes are rare, the better of none and some is returned otherwise: what is rare
        is seldom on one side of a plane.
        """
        units = [HIDDEN] if hidden else [0, FEW_HIDDEN] if self.rare else [0]
        return max(max(self._shares(partial(_answers, units=each), parts, by_ranks)) for each in units)

    def shrinkage(self, rows: Floats, sizes: bool = True) -> float:
        """Return the best of SHRINKAGES for columns that keep their ``sizes`` beside each other, or are standardised."""
        answers = _of_sizes if sizes else partial(_answers, units=0)
        return SHRINKAGES[int(np.argmax(self._shares(answers, [rows], by_ranks=self.several)))]

    def _shares(
        self, answers: Callable[[Floats, Floats, Floats], list[Floats]], parts: Sequence[Floats], by_ranks: bool = False
    ) -> list[float]:
        """Return what `of` does for each of SHRINKAGES. ``answers``: of rows, their classes, and rows that are asked for."""
        nodes = np.concatenate([self.train, self.valid])
        rows, known = np.concatenate([part[nodes] for part in parts], 1), np.concatenate(self._given)
        found = [answers(rows[fit], known[fit], rows[asked]) for fit, asked in self._folds]
        judge = self._ranked if self.rare or by_ranks else self._right
        return [judge(np.concatenate(each)) for each in zip(*found)]

    def _right(self, found: Floats) -> float:
        return float(self._asked[np.arange(len(found)), found.argmax(1)].mean())

    def _ranked(self, found: Floats) -> float:
        some = (self._asked.sum(0) > 0) & (self._asked.sum(0) < len(self._asked))
        if not some.any():
            return 0.5
        if self.precise:  # nearly all of the frequent class are above others, whatever is answered
            some[self._known.sum(0).argmax()] = False
        judge, have = average_precision if self.precise else roc_auc, self._asked > 0
        each = (judge(np.sort(found[have[:, c], c]), np.sort(found[~have[:, c], c])) for c in np.flatnonzero(some)[:MOST_RANKED])
        return float(np.mean(list(each)))


def _answers(rows: Floats, known: Floats, asked: Floats, units: int) -> list[Floats]:
    """Return what is answered for rows that are ``asked`` for, with each of SHRINKAGES, by ridge regression on known classes.
    ``units``: random ones that are beside columns."""
    trained, asked = _standardised(rows, asked)
    if units:
        beside = _standardised(*_units(trained, asked, units))
        trained, asked = (np.concatenate(pair, 1) for pair in zip((trained, asked), beside))
    return _ridge(trained, asked, known)


def _of_sizes(rows: Floats, known: Floats, asked: Floats) -> list[Floats]:
    """Return the same for columns that keep their sizes: their variances are TOTAL together."""
    mean = rows.mean(0)
    size = sqrt(float(rows.var(0).sum()) / TOTAL) or 1.0
    return _ridge((rows - mean) / size, (asked - mean) / size, known)


def _ridge(trained: Floats, asked: Floats, known: Floats) -> list[Floats]:
    """Return what is answered with each of SHRINKAGES by columns whose mean is 0 where they are trained."""
    middle = known.mean(0)
    wanted = known - middle
    # Of rows and columns, the fewer make the matrix whose eigenvectors give the answer for each shrinkage.
    across = len(trained) < trained.shape[1]
    square = trained @ trained.T if across else trained.T @ trained
    values, vectors = np.linalg.eigh(square.astype(np.float64))
    seen = vectors.T @ (wanted if across else trained.T @ wanted)
    there = (asked @ trained.T if across else asked) @ vectors
    return [(there / (np.maximum(values, 0) + each * len(trained))) @ seen + middle for each in SHRINKAGES]


def _standardised(trained: Floats, asked: Floats) -> tuple[Floats, Floats]:
    """Return both with columns of mean 0 and standard deviation 1, as the first has them."""
    mean, spread = trained.mean(0), trained.std(0)
    spread[spread <= 1e-6 * np.abs(trained).max(initial=1e-30)] = 1.0
    return (trained - mean) / spread, (asked - mean) / spread


def _units(trained: Floats, asked: Floats, count: int) -> tuple[Floats, Floats]:
    """Return what random units with ReLU make of standardised columns."""
    rng, width = np.random.default_rng(0), trained.shape[1]
    weights, biases = rng.standard_normal((width, count), np.float32) / sqrt(width), rng.standard_normal(count, np.float32)
    first, second = (np.maximum(rows.clip(-CLIPPED, CLIPPED) @ weights + biases, 0) for rows in (trained, asked))
    return first, second


def linear_test(dataset: Dataset, most: int = MOST_ROWS) -> LinearTest | None:
    """Return the test of a dataset's training and validation nodes, ``most`` of each. None where these are too few.

    Raises UserError for a damaged dataset, RunError for a file that cannot be read.
    """
    labels, splits, counts = dataset.labels, dataset.node_splits, dataset.node_counts
    if labels is None or splits is None or dataset.adjacency is None or labels.classes > MOST_CLASSES:
        return None
    if min(counts.get(name, 0) for name in ("train", "valid")) < FEWEST:
        return None
    (train, known), (valid, asked) = (_looked_at(dataset, splits.nodes(name), most) for name in ("train", "valid"))
    return LinearTest(train, valid, known, asked)


def shares_by_hops(test: LinearTest, rows: Floats, kinds: Iterable[WholeLists], hops: int, hidden: bool = False) -> list[float]:
    """Return the shares of right answers by nodes and neighbours of at most 1, 2, ... ``hops``; those of each hop and of each of
    ``kinds`` of neighbours are apart.

    ``rows``: (nodes, width). ``hidden``: the better of these and of these with random units beside them.
    """
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
    return shares


def noise(share: float, other: float, asked: int) -> float:
    """Return the standard error of the difference of two shares of so many answers. It is small where hardly any are wrong."""
    return sqrt((share * (1 - share) + other * (1 - other)) / asked)


def clear(more: float, less: float, asked: int) -> bool:
    """Return whether one share of so many answers is clearly above another."""
    return more - less > max(noise(more, less, asked), min(LEAST, FEWER * (1 - less)))


def _looked_at(dataset: Dataset, nodes: Ints, most: int) -> tuple[Ints, Floats]:
    """Return ``most`` of the nodes at most, and their classes. Where all classes but one are rare, nodes of these come first, as
    long as they stay rare: they are what ranks are told by."""
    labels = dataset.labels
    scans = isinstance(labels, Labels) and labels.classes <= MOST_SCANNED_CLASSES
    nodes = _thinned(nodes, most * SCANNED if scans else most)
    classes = _classes(dataset, nodes)
    kept = _thinned(np.arange(len(nodes)), most)
    if len(kept) < len(nodes):
        frequent = classes[:, classes.mean(0).argmax()] > 0
        if frequent.mean() > STAYING:
            rarer = _thinned(np.flatnonzero(~frequent), round((1 - STAYING) * most))
            kept = np.sort(np.concatenate([rarer, _thinned(np.flatnonzero(frequent), most - len(rarer))]))
    return nodes[kept], classes[kept]


def _thinned(nodes: Ints, most: int) -> Ints:
    """Return ``most`` of the nodes, at even distances, or all of fewer."""
    return nodes[np.arange(most) * len(nodes) // most] if len(nodes) > most else nodes


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
