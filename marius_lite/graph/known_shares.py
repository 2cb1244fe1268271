"""What is said of nodes by which of their neighbours are training nodes of which class, as linear models tell.

Features and learned rows say where a node is, and by that also which classes are near, but not which relation leads to whom: a
word whose hypernym is an animal is an animal; one that a relation of topics joins to it may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.first_hops import WIDTH, as_begun, drawn_rows, most_hops, walked
from marius_lite.graph.known_classes import trained_classes
from marius_lite.graph.linear_shares import KnownShares
from marius_lite.graph.linear_test import MOST_ROWS, Ints, LinearTest, clear, linear_test, noise
from marius_lite.graph.node_columns import Labels
from marius_lite.graph.symmetry import each_end
from marius_lite.graph.whole_lists import Floats, WholeLists, whole_lists, whole_width

MOST_CLASSES = 64
"""Classes, at most, that training nodes are told to be of."""
MOST_COLUMNS = 3_072
"""Columns of classes that stand side by side where neighbours of each relation, and at either end, are apart."""


def classes_of_trained(dataset: Dataset, nodes: Ints | slice, most: int = MOST_CLASSES) -> Floats | None:
    """Return of ``nodes`` a column for each class, which is 1 for its training nodes, (nodes, classes). None where nodes have
    several classes, or there are over ``most``."""
    labels = dataset.labels
    if not isinstance(labels, Labels) or labels.classes > min(most, MOST_CLASSES):
        return None
    codes = trained_classes(dataset, labels).codes[nodes]
    columns: Floats = (codes[:, None] == np.arange(1, labels.classes + 1)).astype(np.float32)
    return columns


def known_shares(
    test: LinearTest, beside: Sequence[Floats], ends: str, together: Sequence[Floats], apart: Sequence[Floats]
) -> KnownShares:
    """Return the share of right answers by ``beside``, and by known classes of neighbours at these ``ends`` beside that: by
    columns of all neighbours ``together``, or of each kind ``apart`` where that is better."""
    without, share = test.of(*beside), test.of(*beside, *together)
    by_kind = test.of(*beside, *apart) if apart else 0.0
    if by_kind > share and by_kind - share > noise(by_kind, share, test.asked):
        return KnownShares(by_kind, without, ends, test.asked, test.rare, apart=True)
    return KnownShares(share, without, ends, test.asked, test.rare)


def by_kinds(
    rows: Sequence[Floats], ends: str, relations: int, lists_of: Callable[[str], WholeLists], asked: Ints
) -> list[Floats]:
    """Return the means of each of ``rows`` (nodes, classes) over the neighbours of each relation and at either end, apart: those
    of the nodes that are ``asked`` for. Nothing where there is one kind of neighbours, or columns are too many."""
    count = relations * len(each_end(ends))
    if not 1 < count <= MOST_COLUMNS / sum(part.shape[1] for part in rows):
        return []
    kinds = (side.of_relation(r) for side in map(lists_of, each_end(ends)) for r in range(relations))
    return [kind.means(part)[asked] for kind in kinds for part in rows]


def known_beside_rows(dataset: Dataset, ends: str, hops: int, memory: int = 0) -> KnownShares | None:
    """Try known classes of nodes without features, beside first rows that are mixed over so many ``hops``: those of neighbours of
    one hop, and of two. Half of the training nodes learn what the classes of others say, so that none sees its own.

    None where they do not clearly say more, and where nothing can be said: of large graphs, few nodes, many classes, or nodes of
    several, see `Tried.several`. ``memory``: see `graph.hops.tried`. Raises UserError for a damaged dataset, RunError for a file
    that cannot be read.
    """
    nodes, widest = dataset.manifest.nodes, whole_width(dataset, memory)
    width = min(WIDTH, widest)
    if not width or most_hops(dataset, each_end(ends), width, hops) < hops:
        return None
    test = linear_test(dataset, min(MOST_ROWS, dataset.node_counts.get("train", 0) // 2))
    if test is None or (classes := classes_of_trained(dataset, slice(None), widest)) is None:
        return None
    classes[test.train] = 0
    stored, relations = whole_lists(dataset), dataset.manifest.relations
    near, asked = stored.facing(ends), np.union1d(test.train, test.valid)
    rows = as_begun(walked(drawn_rows(nodes, width), near, hops))
    beside = [part[asked] for part in (rows, near.means(rows), near.mixed(near.mixed(rows)))]
    one = near.means(classes)
    together, two = one[asked], near.means(one)[asked]
    kinds = ends, relations, stored.facing, asked
    apart = by_kinds([classes, one], *kinds) or by_kinds([classes], *kinds)
    found = known_shares(test.placed(asked), beside, ends, [together, two], [*apart, two] if apart else [])
    return found if clear(found.share, found.without, test.asked) else None
