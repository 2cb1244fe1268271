"""A sampled neighbourhood as the tensors that encoders take."""

from __future__ import annotations

import numpy as np
import torch

from marius_lite.nn.encoders import LayerGraph
from marius_lite.sampling.neighbours import NeighbourLists, NeighbourSample


def layer_graph(around: NeighbourSample, lists: NeighbourLists, device: torch.device) -> LayerGraph:
    """``lists``: those it was sampled from; they know the true degrees where the encoder asks for them."""
    rel = None if around.rel is None else torch.from_numpy(around.rel.astype(np.int64)).to(device)
    degrees = torch.from_numpy(lists.degrees(around.rows)).to(device) if lists.with_degrees else None
    indptr, indices = (torch.from_numpy(each).to(device) for each in (around.indptr, around.indices))
    return LayerGraph(tuple(around.hop_nodes.tolist()), indptr, indices, rel, degrees, tuple(around.hop_edges.tolist()))
