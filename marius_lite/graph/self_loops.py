"""Whether training edges lead from nodes to themselves: where none does, a node is no answer to a question about itself."""

from __future__ import annotations

import json

from marius_lite.files import read
from marius_lite.graph.dataset import Dataset

PIECE = 1 << 20
"""Edges looked at a time."""


def trains_on_self_loops(dataset: Dataset) -> bool:
    """As preprocess counted them in report.json; where that is gone, the diagonal buckets are read, up to the first one."""
    try:
        return bool(json.loads(read(dataset.path / "report.json"))["edges"]["train"]["self_loops"] > 0)
    except (OSError, ValueError, KeyError, TypeError):
        edges = dataset.edges("train")
        return any((src == dst).any() for k in range(dataset.partitioning.partitions)
                   for src, dst in edges.stream_columns(k, k, PIECE, ("src", "dst")))
