"""Find out whether linked nodes are of one class more often than chance has it. A network that cannot tell a node from its
neighbours needs that."""

from __future__ import annotations

import numpy as np

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.known_classes import trained_classes
from marius_lite.graph.node_columns import Labels

EDGES_READ = 1 << 20
"""Edges that are read at a time. So many ends of edges between training nodes are enough."""
FEWEST = 100
"""How many edges between training nodes must be there before their classes mean something."""


def likeness(dataset: Dataset) -> float | None:
    """Return how much more often edges between training nodes join one class than chance has it: 1 always, 0 as often as chance.

    It is (same - chance) / (1 - chance), the adjusted homophily of Platonov et al. (NeurIPS 2023): ``chance`` is by the classes
    of the ends of these edges. None where nodes may have several classes, or such edges are too few. Takes a few bytes a node.
    Raises UserError for a damaged dataset.
    """
    labels, splits = dataset.labels, dataset.node_splits
    if not isinstance(labels, Labels) or splits is None:
        return None
    known = trained_classes(dataset, labels).codes
    same, ends = 0, np.zeros(labels.classes + 1, np.int64)
    rows = dataset.partitioning.rows
    every = range(dataset.partitioning.partitions)
    for i in every:
        for j in every:
            for src, dst in dataset.edges("train").stream_columns(i, j, EDGES_READ, ("src", "dst")):
                a, b = known[src.astype(np.int64) + i * rows], known[dst.astype(np.int64) + j * rows]
                kept = (a > 0) & (b > 0) & ((src != dst) | (i != j))
                same += int((a[kept] == b[kept]).sum())
                ends += np.bincount(np.concatenate([a[kept], b[kept]]), minlength=labels.classes + 1)
        if ends.sum() >= EDGES_READ:
            break
    if ends.sum() < 2 * FEWEST:
        return None
    chance = float(np.square(ends / ends.sum()).sum())
    return (2 * same / float(ends.sum()) - chance) / (1 - chance) if chance < 1 else None
