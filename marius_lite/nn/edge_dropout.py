"""Leave sampled edges out at random, others each time a batch is trained (DropEdge, Rong et al., ICLR 2020).

Where samples serve several epochs, an encoder learns them by heart. With a part of each it sees another neighbourhood each time.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from marius_lite.nn.dropout import kept_of
from marius_lite.nn.encoders import LayerGraph


def without_edges(graph: LayerGraph, probability: float) -> LayerGraph:
    """Return the graph without some edges, each left out with the same probability. They are drawn from torch's global generator.

    The probability is rounded to a multiple of 2^-16. Nodes stay, also those that nothing leads from any more.
    """
    kept = kept_of(len(graph.indices), probability)
    before = torch.zeros(len(kept) + 1, dtype=torch.int64)  # how many of the first edges are kept
    torch.cumsum(kept, 0, out=before[1:])
    indptr = before[graph.indptr]
    ends = torch.tensor(graph.hop_nodes[:-1]).cumsum(0)
    hop_edges = indptr[ends].diff(prepend=indptr[:1]).tolist()
    rel, factors = (None if each is None else each[kept] for each in (graph.rel, graph.factors))
    return replace(graph, indptr=indptr, indices=graph.indices[kept], rel=rel, hop_edges=tuple(hop_edges), factors=factors)
