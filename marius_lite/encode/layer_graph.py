"""Turn a sampled neighbourhood into the tensors that encoders take, on the host or on a device."""

from __future__ import annotations

import numpy as np

from marius_lite.nn.encoders import LayerGraph
from marius_lite.rows.batch import Arrays, Arrived
from marius_lite.sampling.neighbours import NeighbourSample
from marius_lite.sampling.passes import AnyLists


def graph_arrays(sample: NeighbourSample, lists: AnyLists) -> Arrays:
    """Return the arrays that `layer_graph` needs. ``lists``: those of the sample; they give true degrees if they have them."""
    arrays: dict[str, np.ndarray] = {"indptr": sample.indptr, "indices": sample.indices}
    if sample.rel is not None:
        weighs = lists.weighs
        arrays["edge_factors" if weighs else "edge_rel"] = sample.rel.view(np.float32 if weighs else np.int32)
    if lists.with_degrees:
        arrays["degrees"] = lists.degrees(sample.rows)
    return arrays


def layer_graph(sample: NeighbourSample, arrived: Arrived, arrays: Arrays) -> LayerGraph:
    """Return the encoder's graph, once the ``arrays`` of `graph_arrays` have arrived."""
    rel, degrees, factors = (arrived.tensor(name) if name in arrays else None for name in ("edge_rel", "degrees", "edge_factors"))
    return LayerGraph(
        tuple(sample.hop_nodes.tolist()),
        arrived.tensor("indptr"),
        arrived.tensor("indices"),
        None if rel is None else rel.long(),
        None if degrees is None else degrees.view(arrays["degrees"].shape),  # a device has arrays of one dimension
        tuple(sample.hop_edges.tolist()),
        factors,
    )
