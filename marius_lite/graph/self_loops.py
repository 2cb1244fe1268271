"""Count training edges from a node to itself. Where there are hardly any, a node is no answer to a question about itself."""

from __future__ import annotations

import numpy as np

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import EDGES_AT_ONCE

RARE = 0.001
"""The share of the training edges below which self-loops are taken for mistakes. WN18RR has 7 in 86,835."""


def self_loop_share(dataset: Dataset) -> float:
    """Return the share of self-loops among the training edges.

    The manifest has it. For datasets of earlier versions the buckets (k, k) are read.
    """
    loops = dataset.manifest.self_loops
    if loops is None:
        edges = dataset.edges("train")
        loops = sum(
            int(np.count_nonzero(src == dst))
            for k in range(dataset.partitioning.partitions)
            for src, dst in edges.stream_columns(k, k, EDGES_AT_ONCE, ("src", "dst"))
        )
    return loops / max(1, dataset.manifest.edges["train"])


def self_loops_are_rare(dataset: Dataset) -> bool:
    """Return whether a node is more likely a mistake than an answer to a question about itself."""
    return self_loop_share(dataset) < RARE
