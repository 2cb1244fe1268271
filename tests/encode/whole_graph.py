"""A graph in memory at once, to compare passes with."""

import numpy as np


def matrix(dataset, name):
    """The whole graph as one matrix, float64: sums or means of in-edges, or GCN's normalised sums with each node's own row."""
    n, adjacency = dataset.manifest.nodes, np.zeros((dataset.manifest.nodes,) * 2)
    for k in range(dataset.partitioning.partitions):
        lists, first = dataset.adjacency.read(k), dataset.partitioning.range(k).start
        ends = np.repeat(np.arange(len(lists.indptr) - 1), np.diff(lists.indptr)) + first
        np.add.at(adjacency, (ends, lists.sources.astype(np.int64)), 1)
    if name == "sum":
        return adjacency
    if name == "sage":
        return adjacency / adjacency.sum(1, keepdims=True).clip(1)
    np.fill_diagonal(adjacency, 0)
    scale = (adjacency.sum(1) + 1) ** -0.5
    return scale[:, None] * (adjacency + np.eye(n)) * scale
