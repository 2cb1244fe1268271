"""The edges of a dataset as PyTorch Geometric's own samplers read them: all in memory, by destination."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch_geometric.data import EdgeAttr
from torch_geometric.data import GraphStore as GeometricGraph
from torch_geometric.data.graph_store import EdgeLayout

from marius_lite.errors import UserError
from marius_lite.graph.adjacency import Adjacency
from marius_lite.graph.dataset import Dataset
from marius_lite.pyg.store_ids import NODE_BYTES, StoreIds, require_memory
from marius_lite.pyg.subgraphs import opened

COLUMN_BYTES = 8
"""An entry of the arrays that a sampler takes, which are int64."""


class GraphStore(GeometricGraph):  # type: ignore[misc]
    """The training edges of a dataset: a ``torch_geometric.data.GraphStore`` that is only read.

    ``data``: a dataset of `preprocess` with ``--adjacency in``, or its folder. ``memory``: bytes that the edges may take
    (``4GB``): 8 an edge, 16 where there are several relations, and 32 a node. ``ids``: see `StoreIds`.

    ``edge_type``: the relation of each edge, int64 (edges,), where there are several; None otherwise. A batch's ``e_id`` are
    places there: edges stand in the order of their destinations, then of the node ids of their sources. Raises UserError for what
    cannot be, and for more memory than is given.
    """

    def __init__(self, data: Dataset | Path | str, memory: int | str = "auto"):
        super().__init__()
        dataset = opened(data)
        lists = dataset.adjacency
        if lists is None:
            raise UserError(f"{dataset.path}: a graph store needs a dataset preprocessed with --adjacency in")
        nodes, edges = dataset.manifest.nodes, int(lists.starts[-1])
        most = int(np.diff(lists.starts).max(initial=0))
        needs = {
            "edges": edges * COLUMN_BYTES * (1 + lists.has_relations) + COLUMN_BYTES * (nodes + 1),
            "ids": NODE_BYTES * nodes,
            "a partition on the way": most * (lists.edge_bytes() + 3 * COLUMN_BYTES)
            + 4 * COLUMN_BYTES * dataset.partitioning.rows,
        }
        require_memory(dataset, memory, needs)
        self.ids, self._path = StoreIds(dataset), dataset.path
        self._begins = np.zeros(nodes + 1, np.int64)
        self._sources = np.empty(edges, np.int64)
        relations = np.empty(edges, np.int64) if lists.has_relations else None
        self._read(lists, relations)
        self.edge_type: Tensor | None = None if relations is None else torch.from_numpy(relations)

    def _read(self, lists: Adjacency, relations: npt.NDArray[np.int64] | None) -> None:
        """Read the in-edge lists twice, which are in the order of node ids: how long each is, then what is in it."""
        p, places = lists.partitioning, self.ids.places
        for k in range(p.partitions):
            of_nodes = places[p.range(k).start : p.range(k).stop]
            self._begins[1 + of_nodes] = np.diff(lists.read(k, relations=False).indptr)
        np.cumsum(self._begins, out=self._begins)
        for k in range(p.partitions):
            found = lists.read(k)
            to = np.repeat(self._begins[places[p.range(k).start : p.range(k).stop]] - found.indptr[:-1], np.diff(found.indptr))
            to += np.arange(len(to))
            self._sources[to] = places[found.sources]
            if relations is not None:
                assert found.rel is not None
                relations[to] = found.rel

    def get_all_edge_attrs(self) -> list[EdgeAttr]:
        """Return the one kind of edges that there is: by destination (CSC), of one type of nodes."""
        return [EdgeAttr(None, EdgeLayout.CSC, size=(len(self.ids), len(self.ids)))]

    def _get_edge_index(self, edge_attr: EdgeAttr) -> tuple[Tensor, Tensor] | None:
        """Return the sources of all edges, int64 (edges,), and where those of each node begin, int64 (nodes + 1,)."""
        if edge_attr.edge_type is not None or edge_attr.layout != EdgeLayout.CSC:
            return None
        return torch.from_numpy(self._sources), torch.from_numpy(self._begins)

    def _put_edge_index(self, edge_index: Any, edge_attr: EdgeAttr) -> bool:
        raise UserError(f"{self._path}: found edges to store: a dataset is only read")

    def _remove_edge_index(self, edge_attr: EdgeAttr) -> bool:
        raise UserError(f"{self._path}: found edges to remove: a dataset is only read")
