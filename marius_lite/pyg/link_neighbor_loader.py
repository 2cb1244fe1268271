"""PyTorch Geometric's LinkNeighborLoader over a dataset on disk."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from marius_lite._native import inverse_of, sort_rows
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.pyg.loader import Loader
from marius_lite.pyg.num_neighbors import NumNeighbors
from marius_lite.pyg.options import LoaderArguments, LoaderOptions
from marius_lite.pyg.subgraphs import Ids, Subgraphs, opened
from marius_lite.pyg.typed_edges import EdgeType
from marius_lite.seeds import generator_for
from marius_lite.types import NodeBatch

if TYPE_CHECKING:
    from torch_geometric.data import Data

EdgeLabelIndex = Tensor | npt.NDArray[Any] | Sequence[Sequence[Any]] | str
"""Which edges are loaded. See `LinkNeighborLoader`."""


class LinkNeighborLoader(Loader):
    """Loads batches of edges with the sampled neighbourhoods of their ends, like ``torch_geometric.loader.LinkNeighborLoader``.

    ``edge_label_index``: the edges to load, (2, edges) raw ids, or a split of the dataset (``train``, ``valid``, ``test``).
    ``edge_label``: a number of each, (edges,). ``neg_sampling``: ``binary``: so many random pairs for each edge
    (``neg_sampling_ratio``) are added, with edge_label 0; those of the edges are 1, or as given, and one more where one of them
    is 0. ``triplet``: so many random destinations. None: no negatives. A ratio alone means binary. The rest is as in
    `NeighborLoader`.

    A batch has what `NeighborLoader` gives, and edge_label_index (2, m) and edge_label (m,); for triplets src_index and
    dst_pos_index (m,), and dst_neg_index (m,), or (m, ratio) for more than one: places in ``n_id``. ``batch_size`` counts the
    edges. With ``disjoint`` each end has a tree of its own, and ``batch`` says which of the edges it belongs to. Edges that are
    loaded are not left out of the sampled neighbourhoods, as there. A split takes 16 bytes an edge; one without edges has no
    batches.

    Where nodes have types, ``edge_label_index=(edge type, edges)`` gives batches by types, ``HeteroData``; None are all training
    edges of the type. Negatives are then drawn among nodes of its two types, which takes 8 bytes for each of these.
    """

    def __init__(
        self,
        data: Dataset | Path | str,
        num_neighbors: NumNeighbors,
        edge_label_index: EdgeLabelIndex | tuple[EdgeType, EdgeLabelIndex | None] = "train",
        edge_label: Tensor | npt.NDArray[Any] | None = None,
        *,
        neg_sampling: Literal["binary", "triplet"] | None = None,
        neg_sampling_ratio: int | None = None,
        **options: Unpack[LoaderArguments],
    ):
        self._kind = neg_sampling or ("binary" if neg_sampling_ratio else None)
        self._ratio = 1 if neg_sampling_ratio is None else neg_sampling_ratio
        if self._kind not in (None, "binary", "triplet") or int(self._ratio) != self._ratio or self._ratio < 0:
            raise UserError(
                f"neg_sampling: {neg_sampling!r}, neg_sampling_ratio: {neg_sampling_ratio!r}: give binary, triplet or None, and "
                "a whole number"
            )
        if self._kind == "triplet" and edge_label is not None:
            raise UserError("edge_label: triplets have none: leave it out, or use neg_sampling='binary'")
        super().__init__(LoaderOptions.of(options))
        ends = 2 * self._options.batch_size * (1 + (int(self._ratio) if self._kind else 0))
        kind, asked = _type_of(edge_label_index)
        if kind is None and isinstance(num_neighbors, Mapping):
            raise UserError("edge_label_index: num_neighbors is by edge type: give the type of the edges too, (edge type, edges)")
        self._about = kind
        self._subgraphs = Subgraphs(opened(data), num_neighbors, ends, self._options, kind is not None)
        self._edges = _edges(self._subgraphs, asked, kind)
        self._among = _nodes_of(self._subgraphs, kind if self._kind else None)
        self._label = self._labels(edge_label)

    def __len__(self) -> int:
        return self._options.batches(self._edges.shape[1])

    def _labels(self, given: Tensor | npt.NDArray[Any] | None) -> Tensor | None:
        """Return the labels of the edges. They make room for 0, which negatives have, where there are any."""
        if given is None:
            return None
        label = torch.as_tensor(given)
        if label.shape != (self._edges.shape[1],):
            raise UserError(f"edge_label: found shape {tuple(label.shape)}: expected ({self._edges.shape[1]},)")
        return label + 1 if self._kind == "binary" and len(label) and label.min() == 0 else label

    def _batches(self, epoch: int) -> Generator[Data, None, None]:
        order = self._order(self._edges.shape[1], epoch)
        known: dict[int, dict[str, Any]] = {}  # of the few batches that are under way; packs are made of many at once

        def begun(index: int, places: Ids) -> NodeBatch:
            nodes, more = self._with_negatives(epoch, index, places)
            if not self._subgraphs.packs:
                known[index] = more
            return NodeBatch(epoch, 0, index, nodes)

        for batch, found in self._subgraphs.batches(begun(index, places) for index, places in enumerate(order)):
            # What is not known any more is the same as before.
            more = known.pop(batch.index, None) or self._with_negatives(epoch, batch.index, order[batch.index])[1]
            if "batch" in found:
                found["batch"] %= more["batch_size"]  # an edge's ends, and its negatives, have trees of their own
            yield self._data(found, **more)

    def _with_negatives(self, epoch: int, index: int, places: Ids) -> tuple[Ids, dict[str, Any]]:
        """Return what a batch of edges and negatives begins with, and its attributes. It follows from the seed."""
        edges, wanted = self._edges[:, places], len(places) * int(self._ratio)
        draws = generator_for(self._options.seed, "negatives", epoch, 0, index)
        more: dict[str, Any] = {"input_id": torch.from_numpy(places), "batch_size": len(places)}
        if self._kind == "triplet":
            negatives = draws.choice(self._among[1], wanted)
            nodes, at = self._seeds(np.concatenate([*edges, negatives]))
            src, dst, other = np.split(at, [len(places), 2 * len(places)])
            if self._ratio != 1:  # as there, tree t is of edge t modulo the number of edges
                other = other.reshape(-1, len(places)).T if self._options.disjoint else other.reshape(len(places), -1)
            found = {"src_index": src, "dst_pos_index": dst, "dst_neg_index": other}
            return nodes, {**more, **{name: torch.from_numpy(value) for name, value in found.items()}}
        label = torch.ones(len(places)) if self._label is None else self._label[places]
        if self._kind == "binary":
            edges = np.concatenate([edges, [draws.choice(among, wanted) for among in self._among]], 1)
            label = torch.cat([label, label.new_zeros(wanted)])
        nodes, at = self._seeds(edges.reshape(-1))
        if self._kind or self._label is not None:
            more["edge_label"] = label
        return nodes, {**more, "edge_label_index": torch.from_numpy(at.reshape(2, -1))}

    def _seeds(self, ends: Ids) -> tuple[Ids, Ids]:
        """Return the nodes that a batch begins with, given the ``ends`` that it asks for, and where each end is among them."""
        if self._options.disjoint:
            return ends, np.arange(len(ends))
        nodes, order, starts = sort_rows(ends)
        return nodes, inverse_of(order, starts).astype(np.int64)


def _type_of(asked: Any) -> tuple[EdgeType | None, EdgeLabelIndex]:
    """Return the type of the edges that are asked for, None where there is none, and the edges. Two rows of texts are raw ids."""
    if isinstance(asked, tuple) and len(asked) == 2 and isinstance(asked[0], tuple) and np.ndim(asked[1]) != 1:
        kind, edges = asked
        return kind, "train" if edges is None else edges
    return None, asked


def _nodes_of(subgraphs: Subgraphs, kind: EdgeType | None) -> list[int | Ids]:
    """Return the nodes that may be the source and the target of a negative: so many, or those of the types of an edge type."""
    edges = subgraphs.edges
    if edges is None or kind is None:
        return [subgraphs.dataset.manifest.nodes] * 2
    nodes = {name: np.flatnonzero(edges.codes == edges.node_types.index(name)) for name in {kind[0], kind[2]}}
    return [nodes[kind[0]], nodes[kind[2]]]


def _edges(subgraphs: Subgraphs, asked: EdgeLabelIndex, kind: EdgeType | None) -> Ids:
    """Return the ends of the edges that are asked for, (2, edges) node ids; those of an edge type, where it is not None."""
    edges = subgraphs.edges
    place = None if edges is None or kind is None else edges.place(kind, "edge_label_index")
    if isinstance(asked, str):
        found = _of_split(subgraphs, asked, place)
        if place is not None and not found.size:
            raise UserError(f"edge_label_index: no edge of type {kind!r} is in {asked}")
        return found
    found = _named(subgraphs, asked)
    if edges is not None and place is not None:
        for row, name, code in zip(found, ("source", "target"), edges.ends[:, place].tolist()):
            edges.require(row, code, f"edge_label_index: {name}", subgraphs.raw)
    return found


def _of_split(subgraphs: Subgraphs, split: str, place: int | None) -> Ids:
    """Return the ends of the edges of a split; those of the edge type at ``place``, where it is not None."""
    buckets, rows, edges = subgraphs.dataset.edges(split), subgraphs.dataset.partitioning.rows, subgraphs.edges
    parts = [np.empty((2, 0), np.int64)]
    for i, j in np.argwhere(buckets.counts).tolist():
        src, dst, rel = buckets.read(i, j)
        ends = np.stack([src.astype(np.int64) + i * rows, dst.astype(np.int64) + j * rows])
        parts.append(ends if edges is None else ends[:, edges.of(ends, rel) == place])
    return np.concatenate(parts, 1)


def _named(subgraphs: Subgraphs, asked: Tensor | npt.NDArray[Any] | Sequence[Sequence[Any]]) -> Ids:
    """Return the ends of edges that are named by raw ids."""
    named = asked.cpu().numpy() if isinstance(asked, Tensor) else np.asarray(asked)
    if named.ndim != 2 or len(named) != 2 or not named.shape[1]:
        raise UserError(f"edge_label_index: found shape {named.shape}: expected (2, edges), at least one edge")
    return subgraphs.raw.nodes(named.reshape(-1), "edge_label_index").reshape(2, -1)
