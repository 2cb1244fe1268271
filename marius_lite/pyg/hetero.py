"""Take a sampled subgraph apart by the types of its nodes and edges: PyTorch Geometric's HeteroData."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
    of nodes that have ``y``.
    """
    from torch_geometric.data import HeteroData

    data, nodes = HeteroData(), _groups(found["node_type"].numpy(), len(edges.node_types))
    within = torch.empty_like(found["node_type"])
    hops = _hop_of(found.get("num_sampled_nodes"))
    for code, (name, places) in enumerate(zip(edges.node_types, nodes, strict=True)):
        within[places] = torch.arange(len(places))
        for attribute in OF_NODES:
            if attribute in found and (attribute != "y" or code in labelled):
                data[name][attribute] = found[attribute][places]
        if hops is not None:
            data[name].num_sampled_nodes = _counts(hops, places, len(found["num_sampled_nodes"]))
    hops = _hop_of(found.get("num_sampled_edges"))
    for edge_type, places in zip(edges.edge_types, _groups(found["edge_type"].numpy(), len(edges.edge_types)), strict=True):
        data[edge_type].edge_index = within[found["edge_index"][:, places]]
        if hops is not None:
            data[edge_type].num_sampled_edges = _counts(hops, places, len(found["num_sampled_edges"]))
    return data, within


def asked_about(data: HeteroData, within: Tensor, asked: str | EdgeType, more: Mapping[str, Any]) -> HeteroData:
    """Give a batch what is known of its seeds, ``more``: at the type of node or edge that was asked for.

    ``within``: see `by_type`. What says where the ends of edges are, becomes places among the nodes of their types.
    """
    for name, value in more.items():
        store = data[asked[ENDS[name]]] if name in ENDS else data[asked]
        store[name] = within[value] if name in ENDS or name == "edge_label_index" else value
    return data


def _groups(kinds: npt.NDArray[Any], count: int) -> list[Tensor]:
    """Return the places of each of ``count`` kinds, ascending."""
    order = np.argsort(kinds, kind="stable")
    ends = np.cumsum(np.bincount(kinds, minlength=count))
    return [torch.from_numpy(places) for places in np.split(order, ends[:-1])]


def _hop_of(sampled: list[int] | None) -> Places | None:
    """Return the hop of each node or edge, given how many each hop has."""
    return None if sampled is None else np.repeat(np.arange(len(sampled)), sampled)


def _counts(hops: Places, places: Tensor, count: int) -> list[int]:
    counted: list[int] = np.bincount(hops[places.numpy()], minlength=count).tolist()
    return counted
