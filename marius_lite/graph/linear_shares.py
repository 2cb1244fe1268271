"""What linear models of features, and of what neighbours have, say of classes; see `graph.hops`."""

from __future__ import annotations

from dataclasses import dataclass, field

from marius_lite.graph.feature_sample import Codes
from marius_lite.graph.first_hops import WalkedRows
from marius_lite.graph.linear_test import FEWER, clear, noise

HOPS = 4
"""Hops of nodes that are mixed, of which figures are there at least."""
SURELY = 2.0
"""Standard errors by which nodes mixed with neighbours must be better for a model that cannot tell these apart: where features
say nothing, the best of several hops is better by one."""
MORE = 4 / 3
"""How many times as many right answers are far more, where most are wrong all the same."""
FEWER_PAIRS = 0.1
"""The share of wrongly ranked pairs that must be ranked right for more columns to be better where nodes have several classes."""
LEAST_RANKED = 100
"""Validation nodes of several classes below which their ranks say nothing."""


def told(share: float, rare: bool, models: str = "linear models", precise: bool = False) -> str:
    """Say what a share means that such ``models`` have. ``rare``, ``precise``: see `LinearTest`."""
    if rare:
        figure = "average precision" if precise else "ROC AUC"
        return f"{models} rank the classes of labelled nodes with a mean {figure} of {share:.3f}"
    return f"{models} tell {share:.0%} of the labelled nodes right"


def shown(share: float, rare: bool) -> str:
    """Return the share as messages have it beside another, of which `told` says what it means."""
    return f"{share:.3f}" if rare else f"{share:.0%}"


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
class KnownShares:
    """The ``share`` of right answers by nodes, their neighbours of one hop, and which of these are training nodes of which class;
    ``without`` these. ``directions``: the best for it. ``apart``: whether neighbours of each relation, and at either end, are of
    which class apart from the others', which is better. ``asked``, ``rare``: as of `Tried`."""

    share: float
    without: float
    directions: str
    asked: int
    rare: bool
    apart: bool = False


@dataclass(frozen=True)
class Tried:
    """The shares of validation nodes whose class (or one of whose classes) linear models tell right.

    ``own``: by a node's features alone. ``apart``: by these and, apart from them, the means of its neighbours of one and of two
    hops. ``mixed``: by the features after 1, 2, ... hops of GCN, at least HOPS. ``related``: as ``apart``, but with the
    neighbours of each relation apart from the others', and perhaps those at either end of edges; None where all are alike, or
    there are too many relations. ``asked``: how many validation nodes were asked for. ``unweighted``: the best of ``own``,
    ``apart`` and ``mixed`` where all edges count alike; None where they do in these too. ``directions``: which neighbours these
    take, as `model.directions`: in, unless others are clearly better, by weights or where all edges count alike.
    ``related_directions``: those of ``related``; ``related_bounds``: those of ranges of weights that are apart too. ``one_way``:
    the best of ``own``, ``apart`` and ``mixed`` with in, where ``directions`` are others. ``several``: whether some of these
    nodes have several classes. Almost all are then told one of them right, whatever the hops, so that shares say little about how
    many of these are best. ``rare``: whether shares are ROC AUCs, or, ``precise``, average precisions, see `LinearTest`.
    ``counted``: what the number of a node's neighbours says beside these; None where that was not tried. ``placed``: what is said
    by rows that tell where a node is, whatever its features; None where that was not tried. ``logs``: whether all this is said of
    logarithms of columns with long tails, which are clearly better. ``codes``: of columns beside which a 0 or 1 for each is
    clearly better. ``shrinkage``: that which is best for counts after two hops, see `LinearTest.shrinkage`; None for other
    features. ``drawn``: shares by nodes and all their neighbours of one hop, and by these and some of them; None where that was
    not tried. ``bent_apart``, ``bent_mixed``: ``apart`` and ``mixed`` of two hops, also with random units beside them.
    ``deeper``, ``related_deeper``: as ``apart`` and ``related``, of 3, 4, ... hops; empty where that was not tried.
    ``related_counted``: ``related`` beside the number of neighbours at each end, and their mean number. ``several_shrinkage``:
    that which is best after two hops where nodes have several classes. ``known``: what is said by which neighbours are training
    nodes of which class; None where that was not tried.
    """

    own: float
    apart: float
    mixed: tuple[float, ...]
    related: float | None
    asked: int
    unweighted: float | None = None
    directions: str = "in"
    related_directions: str = "in"
    related_bounds: tuple[float, ...] = ()
    one_way: float | None = None
    several: bool = False
    rare: bool = False
    precise: bool = False
    counted: Shares | None = None
    placed: WalkedRows | None = None
    logs: bool = False
    codes: Codes = field(default_factory=dict)
    shrinkage: float | None = None
    drawn: tuple[float, float] | None = None
    bent_apart: float = 0.0
    bent_mixed: float = 0.0
    deeper: tuple[float, ...] = ()
    related_deeper: tuple[float, ...] = ()
    related_counted: tuple[float, float] | None = None
    several_shrinkage: float | None = None
    known: KnownShares | None = None

    def told(self, share: float) -> str:
        """Say what a share means."""
        return told(share, self.rare, precise=self.precise)

    def shown(self, share: float) -> str:
        """Return the share as messages have it beside another, of which `told` says what it means."""
        return shown(share, self.rare)

    def in_doubt(self, share: float, other: float) -> str:
        """Say why what has the ``share`` is taken where that is not above the ``other``."""
        return " (of rare classes a few examples hardly tell)" if self.rare and share <= other else ""

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
        if self.better_known or self.depth > 2:
            return True
        apart, mixed = max(self.own, self.apart, self.bent_apart), max(*self.mixed, self.bent_mixed)
        shown = self.better_inputs is None and not self.several and self.better_counted
        if self.counted is not None and shown:
            apart, mixed = max(apart, self.counted.counted), max(mixed, self.counted.counted_mixed)
        if self._clear(apart, mixed):
            return True
        surely = mixed - apart > SURELY * noise(mixed, apart, self.asked)
        return False if surely and self._clear(mixed, apart) else None

    def _clear(self, more: float, less: float) -> bool:
        """Return whether one share is clearly above another."""
        return clear(more, less, self.asked)

    def _better_shown(self, counted: float, uncounted: float) -> bool:
        """Return whether how many neighbours nodes have is shown. What is rare, a fraud say, often has unusually many or few, and
        a few examples tell a linear model less of that than a network."""
        return not self._clear(uncounted, counted) if self.rare else self._clear(counted, uncounted)

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
        """Whether neighbours clearly say more where all edges count alike, whatever their weights; or only say more at other ends
        of edges if they do."""
        if self.unweighted is None:
            return False
        only_so = self.one_way is not None and not self._clear(self.most, self.one_way)
        return only_so or self._clear(self.unweighted, self.best)

    @property
    def better_counted(self) -> bool:
        """Whether nodes are clearly told better by how many neighbours they have, beside all else; where classes are rare, also
        where that is not clear."""
        if self.counted is None:
            return False
        if self.several:  # ranks of many classes at once differ less by chance
            right = self.counted.best_counted - self.counted.plain > FEWER_PAIRS * (1 - self.counted.plain)
            return right and self.asked >= LEAST_RANKED
        return self._better_shown(self.counted.best_counted, self.uncounted)

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
        return max(self._near_uncounted, self.most, self.counted.plain if self.counted else 0.0)

    @property
    def _near_uncounted(self) -> float:
        return max(self.best, self.bent_apart, self.bent_mixed, self.related or 0.0, self.unweighted or 0.0)

    @property
    def by_features(self) -> float:
        """The best share of all that features and numbers of neighbours say."""
        return max(self.near, *self.deeper, *self.related_deeper, 0)

    @property
    def better_known(self) -> bool:
        """Whether the classes of training nodes among neighbours clearly say more than the same models do without, and more than
        all else: of more hops, by all of which a network has them too, and of where nodes are. Where learned rows are far better
        than features, these learn as much, and of more than one hop."""
        if self.known is None or self.better_inputs is not None:
            return False
        placed = (self.placed.alone, self.placed.beside) if self.placed else ()
        share = self.known.share
        return share > self.by_features and all(self._clear(share, less) for less in (self.known.without, *placed))

    @property
    def better_inputs(self) -> str | None:
        """The `model.inputs`, embeddings or both, that leave a fifth fewer wrong answers than features, or give a third more
        right ones. None: none do.

        Where classes are rare, that is said of features without numbers of neighbours: of a few examples networks learn less of
        these than linear models do, where features say nothing beside them.
        """
        if self.placed is None or self.several:
            return None
        near = self._near_uncounted if self.rare else self.near
        known = max(near, *self.deeper, *self.related_deeper, 0)
        alone = self._far_better(self.placed.alone, known)
        both = self._far_better(self.placed.beside, known)
        if both and (not alone or self._far_better(self.placed.beside, self.placed.alone)):
            return "both"
        return "embeddings" if alone else None

    def _far_better(self, more: float, less: float) -> bool:
        fewer_wrong, more_right = 1 - more <= (1 - FEWER) * (1 - less), not self.rare and more >= MORE * less
        return self._clear(more, less) and (fewer_wrong or more_right)

    @property
    def better_related(self) -> bool:
        """Whether the neighbours of each relation, or at either end, say clearly more apart from the others', and not less than
        the number of neighbours. Where classes are rare and both ends are taken, these are apart unless they clearly say less so:
        a few examples hardly tell which is better, and who pays is another than who is paid."""
        far = max(self.related_deeper, default=0.0)
        near = max(self.best, self.unweighted or 0.0)
        counted = 0.0 if self.counted is None or self.several else self.counted.best_counted
        most = max(self.most_related, far)
        if self.rare and self.directions == self.related_directions == "both":
            return not self._clear(max(near, counted), most)
        if counted >= most if self.rare else self._clear(counted, most):
            return False
        better = self._clear(self.related or 0.0, near) or self._clear(self.most_related, max(near, counted))
        return better or self._clear(far, max(self.near, *self.deeper, 0))

    @property
    def most_related(self) -> float:
        """``related``, or that beside the number of neighbours."""
        counted = 0.0 if self.related_counted is None or self.several else self.related_counted[0]
        return max(self.related or 0.0, counted)

    @property
    def better_related_counted(self) -> bool:
        """Whether nodes are told better by how many neighbours they have at each end, beside these by relation or end."""
        if self.related_counted is None or self.several:
            return False
        return self._better_shown(self.related_counted[0], self.related or 0.0)
