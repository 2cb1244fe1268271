"""Give samples sizes that recur: a device repeats the work of batches of equal sizes by one launch, and knows their products.

Behind the nodes and the edges of each hop stand some more, which nothing that a seed depends on takes from. So the seeds' vectors
and all gradients are the same but for rounding.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from marius_lite._native import padded_sample
from marius_lite.sampling.neighbours import NeighbourSample

STEPS = 8
"""Sizes between a power of two and the next. So an eighth is added, at most."""
FEW = 16
"""Sizes are multiples of this at least."""


def recurring(count: int) -> int:
    """Return the smallest size that recurs and is not below ``count``."""
    step = max(FEW, 1 << max(count - 1, 0).bit_length() >> STEPS.bit_length())
    return -(-count // step) * step


def padded(sample: NeighbourSample) -> NeighbourSample:
    """Return the sample with sizes of hops that recur. What it counts of the graph stays.

    `config.encoder_memory.padded_sizes` bounds them.
    """
    had_nodes, had_edges = sample.hop_nodes.tolist(), sample.hop_edges.tolist()
    edges = [recurring(count) for count in had_edges]
    more_edges = [size - count for size, count in zip(edges, had_edges)]
    nodes = [
        recurring(count + _needed(more, drawn, count)) for count, more, drawn in zip(had_nodes, [*more_edges, 0], [*had_edges, 0])
    ]
    made = padded_sample(
        sample.nodes,
        sample.rows,
        sample.hop_nodes,
        sample.indptr,
        sample.indices,
        sample.hop_edges,
        sample.rel,
        np.array(nodes) - had_nodes,
        np.array(more_edges, np.int64),
    )
    return replace(sample, **made, hop_nodes=np.array(nodes, np.int32), hop_edges=np.array(edges, np.int32))


def _needed(edges: int, drawn: int, nodes: int) -> int:
    """Return how many nodes have so many ``edges``, with about as many each as ``nodes`` have that drew ``drawn``.

    What a node takes is summed one after the other, so no node should have many.
    """
    return -(-edges // max(1, -(-drawn // max(1, nodes))))
