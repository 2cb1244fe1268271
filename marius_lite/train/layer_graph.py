"""A sampled neighbourhood as the tensors that encoders take."""

from __future__ import annotations

import numpy as np
import torch

from marius_lite.device.batches import Arrays, Arrived
from marius_lite.nn.encoders import LayerGraph
from marius_lite.sampling.neighbours import NeighbourLists, NeighbourSample


def layer_graph(around: NeighbourSample, lists: NeighbourLists) -> LayerGraph:
    """On the CPU. ``lists``: those it was sampled from; they know the true degrees where the encoder asks for them."""
    rel = None if around.rel is None else torch.from_numpy(around.rel.astype(np.int64))
    degrees = torch.from_numpy(lists.degrees(around.rows)) if lists.with_degrees else None
    return LayerGraph(tuple(around.hop_nodes.tolist()), torch.from_numpy(around.indptr), torch.from_numpy(around.indices), rel,
                      degrees, tuple(around.hop_edges.tolist()))


def graph_arrays(around: NeighbourSample, lists: NeighbourLists) -> Arrays:
    """What `arrived_graph` needs on the device."""
    arrays: dict[str, np.ndarray] = {"indptr": around.indptr, "indices": around.indices}
    if around.rel is not None:
        arrays["edge_rel"] = around.rel.view(np.int32)
    if lists.with_degrees:
        arrays["degrees"] = lists.degrees(around.rows)
    return arrays


def arrived_graph(around: NeighbourSample, arrived: Arrived) -> LayerGraph:
    """On the device."""
    rel, degrees = (arrived.tensor(name) if name in arrived.arrays else None for name in ("edge_rel", "degrees"))
    return LayerGraph(tuple(around.hop_nodes.tolist()), arrived.tensor("indptr"), arrived.tensor("indices"),
                      None if rel is None else rel.long(), degrees, tuple(around.hop_edges.tolist()))
