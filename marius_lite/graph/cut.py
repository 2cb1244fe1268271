"""Measure how well a partitioning suits its graph."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marius_lite.graph.partitioning import Partitioning

Counts = npt.NDArray[np.int64]


def edge_cut(counts: Counts) -> float:
    """Return the share of edges whose ends lie in different partitions. ``counts`` (p, p): edges of each bucket."""
    return round(1 - int(counts.trace()) / max(1, int(counts.sum())), 6)


def balance(counts: Counts, partitioning: Partitioning) -> dict[str, float]:
    """Return how much larger the largest partition is than the mean one: in nodes, and in edges that lead to its nodes."""
    into = counts.sum(0)
    return {
        "nodes": round(partitioning.rows * partitioning.partitions / partitioning.nodes, 6),
        "edges": round(int(into.max()) * len(into) / max(1, int(into.sum())), 6),
    }
