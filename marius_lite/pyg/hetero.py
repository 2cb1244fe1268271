"""Take a sampled subgraph apart by the types of its nodes and edges: PyTorch Geometric's HeteroData."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from marius_lite.pyg.typed_edges import EdgeType, TypedEdges

if TYPE_CHECKING:
    from torch_geometric.data import HeteroData

Places = npt.NDArray[np.int64]
OF_NODES = ("x", "n_id", "y", "batch")
"""Attributes that have a row for each node."""
ENDS = {"src_index": 0, "dst_pos_index": 2, "dst_neg_index": 2}
"""Attributes of triplets: places of nodes of one end of the edge type that was asked for."""


def by_type(found: Mapping[str, Any], edges: TypedEdges, labelled: Collection[int]) -> tuple[HeteroData, Tensor]:
    """Return a subgraph by types, and the place of each of its nodes among those of its type, int64 (n,).

    ``found``: the attributes of its ``Data``; ``node_type`` and ``edge_type`` are places in the ``edges``' types. Nodes and edges
    of a type stand in the order of the subgraph. All types are there, also those without nodes or edges. ``labelled``: the types
    of nodes that have ``y``. It is done in numpy: torch would share each of these short operations among threads.
    """
    from torch_geometric.data import HeteroData

    data, within = HeteroData(), np.empty(len(found["node_type"]), np.int64)
    for code, (name, places) in enumerate(zip(edges.node_types, _apart(found["node_type"], len(edges.node_types)), strict=True)):
        within[places] = np.arange(len(places))
        for attribute in OF_NODES:
            if attribute in found and (attribute != "y" or code in labelled):
                data[name][attribute] = torch.from_numpy(found[attribute].numpy()[places])
        if "num_sampled_nodes" in found:
            data[name].num_sampled_nodes = _by_hop(places, found["num_sampled_nodes"])
    index = within[found["edge_index"].numpy()]
    for edge_type, places in zip(edges.edge_types, _apart(found["edge_type"], len(edges.edge_types)), strict=True):
        data[edge_type].edge_index = torch.from_numpy(index.take(places, 1))
        if "num_sampled_edges" in found:
            data[edge_type].num_sampled_edges = _by_hop(places, found["num_sampled_edges"])
    return data, torch.from_numpy(within)


def asked_about(data: HeteroData, within: Tensor, asked: str | EdgeType, more: Mapping[str, Any]) -> HeteroData:
    """Give a batch what is known of its seeds, ``more``: at the type of node or edge that was asked for.

    ``within``: see `by_type`. What says where the ends of edges are, becomes places among the nodes of their types.
    """
    for name, value in more.items():
        store = data[asked[ENDS[name]]] if name in ENDS else data[asked]
        store[name] = within[value] if name in ENDS or name == "edge_label_index" else value
    return data


def _apart(types: Tensor, count: int) -> list[Places]:
    """Return the places of each of ``count`` types, ascending."""
    codes = types.numpy().astype(np.uint16 if count <= 1 << 16 else np.int64)  # which numpy sorts by their digits
    return np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes, minlength=count))[:-1])


def _by_hop(places: Places, hops: Sequence[int]) -> list[int]:
    """Return how many of the ascending ``places`` each hop has, given how many there are in all."""
    ends: list[int] = np.searchsorted(places, np.cumsum(hops)).tolist()
    return [end - start for start, end in zip([0, *ends], ends)]
