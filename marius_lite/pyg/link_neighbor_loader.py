"""PyTorch Geometric's LinkNeighborLoader over a dataset on disk."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.pyg.loader import Loader
from marius_lite.pyg.options import LoaderArguments, LoaderOptions
from marius_lite.pyg.subgraphs import Ids, Subgraphs, opened
from marius_lite.seeds import generator_for
from marius_lite.types import NodeBatch

if TYPE_CHECKING:
    from torch_geometric.data import Data

EdgeLabelIndex = Tensor | npt.NDArray[Any] | Sequence[Sequence[Any]] | str


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
    loaded are not left out of the sampled neighbourhoods, as there. A split takes 16 bytes an edge.
    """

    def __init__(
        self,
        data: Dataset | Path | str,
        num_neighbors: Sequence[int],
        edge_label_index: EdgeLabelIndex = "train",
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
        dataset = opened(data)
        self._subgraphs, self._total = Subgraphs(dataset, num_neighbors, ends, self._options), dataset.manifest.nodes
        self._edges = _edges(self._subgraphs, edge_label_index)
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
        return label + 1 if self._kind == "binary" and label.min() == 0 else label

    def _batches(self, epoch: int) -> Generator[Data, None, None]:
        order = self._order(self._edges.shape[1], epoch)
        batches = (
            NodeBatch(epoch, 0, index, self._with_negatives(epoch, index, places)[0]) for index, places in enumerate(order)
        )
        for batch, found in self._subgraphs.batches(batches):
            _, more = self._with_negatives(epoch, batch.index, order[batch.index])  # the same as before
            if "batch" in found:
                found["batch"] %= more["batch_size"]  # an edge's ends, and its negatives, have trees of their own
            yield self._data(found, **more)

    def _with_negatives(self, epoch: int, index: int, places: Ids) -> tuple[Ids, dict[str, Any]]:
        """Return what a batch of edges and negatives begins with, and its attributes. It follows from the seed."""
        edges, wanted = self._edges[:, places], len(places) * int(self._ratio)
        draws = generator_for(self._options.seed, "negatives", epoch, 0, index)
        more: dict[str, Any] = {"input_id": torch.from_numpy(places), "batch_size": len(places)}
        if self._kind == "triplet":
            negatives = draws.integers(self._total, size=wanted)
            nodes, at = self._seeds(np.concatenate([*edges, negatives]))
            src, dst, other = np.split(at, [len(places), 2 * len(places)])
            if self._ratio != 1:  # as there, tree t is of edge t modulo the number of edges
                other = other.reshape(-1, len(places)).T if self._options.disjoint else other.reshape(len(places), -1)
            found = {"src_index": src, "dst_pos_index": dst, "dst_neg_index": other}
            return nodes, {**more, **{name: torch.from_numpy(value) for name, value in found.items()}}
        label = torch.ones(len(places)) if self._label is None else self._label[places]
        if self._kind == "binary":
            edges = np.concatenate([edges, draws.integers(self._total, size=(2, wanted))], 1)
            label = torch.cat([label, label.new_zeros(wanted)])
        nodes, at = self._seeds(edges.reshape(-1))
        if self._kind or self._label is not None:
            more["edge_label"] = label
        return nodes, {**more, "edge_label_index": torch.from_numpy(at.reshape(2, -1))}

    def _seeds(self, ends: Ids) -> tuple[Ids, Ids]:
        """Return the nodes that a batch begins with, given the ``ends`` that it asks for, and where each end is among them."""
        if self._options.disjoint:
            return ends, np.arange(len(ends))
        nodes, at = np.unique(ends, return_inverse=True)
        return nodes, at


def _edges(subgraphs: Subgraphs, asked: EdgeLabelIndex) -> Ids:
    """Return the ends of the edges that are asked for, (2, edges) node ids."""
    if isinstance(asked, str):
        buckets, rows = subgraphs.dataset.edges(asked), subgraphs.dataset.partitioning.rows
        parts = [np.empty((2, 0), np.int64)]
        for i, j in np.argwhere(buckets.counts).tolist():
            src, dst, _ = buckets.read(i, j)
            parts.append(np.stack([src.astype(np.int64) + i * rows, dst.astype(np.int64) + j * rows]))
        return np.concatenate(parts, 1)
    named = asked.cpu().numpy() if isinstance(asked, Tensor) else np.asarray(asked)
    if named.ndim != 2 or len(named) != 2 or not named.shape[1]:
        raise UserError(f"edge_label_index: found shape {named.shape}: expected (2, edges), at least one edge")
    return subgraphs.raw.nodes(named.reshape(-1), "edge_label_index").reshape(2, -1)
