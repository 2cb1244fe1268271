"""PyTorch Geometric's NeighborLoader over a dataset on disk."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.node_columns import NODE_SPLITS
from marius_lite.pyg.loader import Loader
from marius_lite.pyg.num_neighbors import NumNeighbors
from marius_lite.pyg.options import LoaderArguments, LoaderOptions
from marius_lite.pyg.subgraphs import Ids, Subgraphs, opened
from marius_lite.types import NodeBatch

if TYPE_CHECKING:
    from torch_geometric.data import Data

InputNodes = Tensor | npt.NDArray[Any] | Sequence[Any] | str | None
"""Which nodes are loaded. See `NeighborLoader`."""


class NeighborLoader(Loader):
    """Loads batches of nodes with sampled neighbourhoods, like ``torch_geometric.loader.NeighborLoader``.

    ``data``: a dataset of `preprocess`, with ``--features`` and ``--adjacency in``, or its folder. ``num_neighbors``: of each
    hop; -1: all. ``input_nodes``: raw ids, a mask over integer raw ids, ``train``, ``valid`` or ``test``, or None for all nodes.
    ``batch_size``, ``shuffle``, ``drop_last``, ``transform``, ``weight_attr`` (``weight``): as there. ``replace``: a node that
    has neighbours draws as many as are asked for, with replacement. ``disjoint``: each seed has a tree of its own; a node may
    stand in several. ``subgraph_type``: ``directional``, the edges drawn; ``bidirectional``, each of them once in both
    directions; ``induced``, all edges among a batch's nodes, or among those of a tree (which is refused there).

    Where nodes have types, ``input_nodes=(type, nodes)`` gives batches by types, ``HeteroData``. ``num_neighbors`` may then be
    by edge type too, {(source type, relation, target type): [of each hop]}, each of those of `metadata`. See ``docs/pyg.md``.

    A batch is a ``Data`` with x (n, width) float32, edge_index (2, edges), y where nodes have labels, n_id, input_id, batch_size,
    edge_type where there are several relations, batch (n,), the tree of each node, where it is disjoint, and num_sampled_nodes
    and num_sampled_edges, by hop, where it is directional. Seeds are the first rows. ``n_id`` are raw ids where they are
    integers, else node ids; `raw_ids` names those.

    ``memory``: bytes that features, in-edge lists and batches may take (``4GB``); features that do not fit come from disk in the
    order of batches, through temporary files in ``folder``. Batches are the same for the same ``seed``, whatever the memory and
    the number of ``threads``. Each iteration draws anew; a new one ends the one before. ``num_workers``, ``persistent_workers``,
    ``prefetch_factor`` and ``pin_memory`` are taken and not needed. Raises UserError for what cannot be.
    """

    def __init__(
        self,
        data: Dataset | Path | str,
        num_neighbors: NumNeighbors,
        input_nodes: InputNodes | tuple[str, InputNodes] = None,
        **options: Unpack[LoaderArguments],
    ):
        super().__init__(LoaderOptions.of(options))
        self._about, asked = _type_of(input_nodes)
        if self._about is None and isinstance(num_neighbors, Mapping):
            raise UserError("input_nodes: num_neighbors is by edge type: give the type of the nodes too, (type, nodes)")
        typed = self._about is not None
        self._subgraphs = Subgraphs(opened(data), num_neighbors, self._options.batch_size, self._options, typed)
        self._nodes = _of_type(self._subgraphs, _input_nodes(self._subgraphs, asked), asked, self._about)

    def __len__(self) -> int:
        return self._options.batches(len(self._nodes))

    def _batches(self, epoch: int) -> Generator[Data, None, None]:
        places = self._order(len(self._nodes), epoch)
        batches = (NodeBatch(epoch, 0, index, self._nodes[part]) for index, part in enumerate(places))
        for batch, found in self._subgraphs.batches(batches):
            yield self._data(found, input_id=torch.from_numpy(places[batch.index]), batch_size=batch.size)


def _type_of(asked: InputNodes | tuple[str, InputNodes]) -> tuple[str | None, InputNodes]:
    """Return the type of the nodes that are asked for, None where there is none, and the nodes. Two texts are raw ids."""
    match asked:
        case (str(kind), nodes) if isinstance(asked, tuple) and (not isinstance(nodes, str) or nodes in NODE_SPLITS):
            return kind, nodes
    return None, asked


def _of_type(subgraphs: Subgraphs, nodes: Ids, asked: InputNodes, kind: str | None) -> Ids:
    """Return the nodes of a type, all where it is None. Raises UserError where a node that is named has another."""
    edges = subgraphs.edges
    if edges is None or kind is None:
        return nodes
    code = edges.code(kind, "input_nodes")
    if not (asked is None or isinstance(asked, str)):
        edges.require(nodes, code, "input_nodes: node", subgraphs.raw)
    found: Ids = nodes[edges.codes[nodes] == code]
    if not len(found):
        raise UserError(f"input_nodes: no node of type {kind!r} is there" + (f" for {asked}" if asked is not None else ""))
    return found


def _input_nodes(subgraphs: Subgraphs, asked: InputNodes) -> Ids:
    """Return the ids of the nodes that are asked for, in the order asked for."""
    if asked is None:
        return subgraphs.raw.ascending()
    if isinstance(asked, str):
        if asked not in NODE_SPLITS:
            raise UserError(f"input_nodes: {asked!r}: give {', '.join(NODE_SPLITS)}, raw ids, a mask, None, or (type, nodes)")
        return subgraphs.raw.ascending(subgraphs.dataset.node_split(asked))
    values = asked.cpu().numpy() if isinstance(asked, Tensor) else np.asarray(asked)
    if values.ndim == 1 and values.dtype == np.bool_ and subgraphs.raw.are_integers:
        values = np.flatnonzero(values)
    if values.ndim != 1 or not len(values):
        raise UserError(f"input_nodes: found shape {values.shape}: expected raw ids (n,) or a mask, of at least one node")
    nodes = subgraphs.raw.nodes(values, "input_nodes")
    distinct, first = np.unique(nodes, return_index=True)
    if len(distinct) < len(nodes):
        twice = int(np.setdiff1d(np.arange(len(nodes)), first)[0])
        raise UserError(f"input_nodes: {values[twice]} stands twice (entry {twice}): name each node once")
    return nodes
