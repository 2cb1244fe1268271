"""What the loaders read of a dataset: neighbours, features, labels and raw ids, within the memory that they may take."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from marius_lite.config.packing import LISTS_SHARE, PREPARED, PackedTable
from marius_lite.errors import UserError
from marius_lite.files import require_space
from marius_lite.graph.adjacency import Adjacency
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.features import Features
from marius_lite.pipeline.batches import Stages
from marius_lite.pyg.edges import BatchEdges, both_ways, induced_edges, sampled_edges
from marius_lite.pyg.num_neighbors import NumNeighbors, fanouts_of, reached
from marius_lite.pyg.options import LoaderOptions
from marius_lite.pyg.quick import sampled_quickly
from marius_lite.pyg.raw_ids import RawIds
from marius_lite.pyg.typed_edges import NODE_BYTES, TypedEdges
from marius_lite.rows.batch import Arrived, PreparedBatch
from marius_lite.rows.host import HostRows
from marius_lite.rows.packed import PackedRows
from marius_lite.rows.resident import RowBuffers
from marius_lite.rows.sparse import SparseFeatures, held_sparse
from marius_lite.sampling.neighbours import NeighbourLists, NeighbourSample, trees_of
from marius_lite.seeds import seed_for
from marius_lite.sizes import format_bytes
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.types import NodeBatch

Ids = npt.NDArray[np.int64]


class Subgraphs:
    """Samples the neighbourhoods of batches of nodes, and brings their rows. Raises UserError for what cannot be.

    ``asked``: neighbours by hop, -1: all. ``most_seeds``: nodes that a batch begins with, at most. ``typed``: whether neighbours
    are drawn by edge type. ``edges`` are then the lists, and ``labelled`` the codes of the types of nodes that have labels.
    """

    def __init__(self, dataset: Dataset, asked: NumNeighbors, most_seeds: int, options: LoaderOptions, typed: bool = False):
        weighted = options.weight_attr is not None
        stored, adjacency = _required(dataset, weighted)
        if typed and options.subgraph == "bidirectional":
            raise UserError("subgraph_type: bidirectional: an edge back has no type here: give directional or induced")
        self.edges = TypedEdges(dataset) if typed else None
        self.dataset, self._fanouts, self._options = dataset, fanouts_of(asked, self.edges), options
        self.raw, self._labels = RawIds(dataset), labels_of(dataset)
        self.labelled = set() if self.edges is None or self._labels is None else _labelled(self._labels, self.edges.codes)
        most = inf if options.disjoint else dataset.manifest.nodes  # a node may stand in several trees
        most_reached = reached(self._fanouts, self.edges, most_seeds, most)
        self._rows = _rows(dataset, stored, self.edges or adjacency, most_reached, options)
        self._lists = NeighbourLists(self.edges or adjacency, weighted=weighted)
        everything = tuple(range(dataset.partitioning.partitions))
        self._rows.enter(everything, [])
        self._lists.enter(self._rows.base_rows())

    @property
    def packs(self) -> bool:
        """Whether features stay on disk, and come in packs."""
        return isinstance(self._rows, PackedRows)

    def batches(self, batches: Iterable[NodeBatch]) -> Generator[tuple[NodeBatch, dict[str, Any]], None, None]:
        """Yield each batch with its sampled subgraph, as attributes of PyTorch Geometric's ``Data``."""
        stages: Stages[Any, Any, Any, Any] = self._rows.pipeline(self._prepare, _nothing_is_learned)
        sampled = stages.ahead if self.packs else sampled_quickly
        with closing(sampled(batches, stages.sample, lambda: False)) as ahead:
            for batch, read in ahead:
                prepared, arrived = stages.gather(read)
                yield batch, self._attributes(prepared, arrived.values())

    def counters(self) -> dict[str, float]:
        """Return the bytes read and written so far, and the seconds that batches waited."""
        return self._rows.counters()

    def close(self) -> None:
        self._lists.close()
        self._rows.close()

    def _prepare(self, batch: NodeBatch) -> PreparedBatch[NeighbourSample]:
        seed, options = seed_for(self._options.seed, "neighbours", batch.epoch, batch.step, batch.index), self._options
        if not options.disjoint:
            sample = self._lists.sample(batch.nodes, self._fanouts, seed, options.used_threads, replace=options.replace)
            return PreparedBatch(batch, sample, self._rows.each_table(sample.rows, sample.nodes))
        sample = self._lists.sample_trees(batch.nodes, self._fanouts, seed, options.used_threads, options.replace)
        nodes, first, places = np.unique(sample.nodes, return_index=True, return_inverse=True)  # a row comes once
        return PreparedBatch(batch, sample, self._rows.each_table(sample.rows[first], nodes), {"places": places})

    def _attributes(self, prepared: PreparedBatch[NeighbourSample], x: Tensor) -> dict[str, Any]:
        sample, disjoint = prepared.sampled, self._options.disjoint
        trees = trees_of(sample) if disjoint else None
        edges = self._edges(sample, trees)
        found: dict[str, Any] = {
            "x": x[torch.from_numpy(prepared.arrays["places"])] if disjoint else x,
            "edge_index": edges.index,
        }
        if self._labels is not None:
            found["y"] = torch.from_numpy(self._labels[sample.nodes])
        found["n_id"] = self.raw.of(sample.nodes)
        if self._options.subgraph == "directional":  # else hops have no edges of their own
            found |= {"num_sampled_nodes": sample.hop_nodes.tolist(), "num_sampled_edges": sample.hop_edges.tolist()}
        if edges.types is not None:
            found["edge_type"] = edges.types
        if self.edges is not None:
            found["node_type"] = torch.from_numpy(self.edges.codes[sample.nodes].astype(np.int64))
        if trees is not None:
            found["batch"] = torch.from_numpy(trees.astype(np.int64))
        return found

    def _edges(self, sample: NeighbourSample, trees: npt.NDArray[np.int32] | None) -> BatchEdges:
        if self._options.subgraph == "induced":
            return induced_edges(sample, self._lists, trees, self._options.used_threads)
        return both_ways(sample) if self._options.subgraph == "bidirectional" else sampled_edges(sample)


def opened(data: Dataset | Path | str) -> Dataset:
    """Return the dataset, opened if it is a folder. Raises UserError for anything else."""
    if isinstance(data, Dataset):
        return data
    if not isinstance(data, str | Path):
        raise UserError(f"data: found {type(data).__name__}: expected the folder of a dataset, which `preprocess` makes")
    opened = Dataset.open(Path(data))
    opened.checked.need_all()
    return opened


def _nothing_is_learned(prepared: PreparedBatch[Any], arrived: Arrived) -> tuple[Tensor, Sequence[Tensor]]:
    raise NotImplementedError("a loader only brings batches")


def _required(dataset: Dataset, weighted: bool) -> tuple[Features, Adjacency]:
    stored, adjacency = dataset.features, dataset.adjacency
    if stored is None or adjacency is None:
        missing = " and ".join(
            option for option, there in (("--features FILE", stored), ("--adjacency in", adjacency)) if there is None
        )
        raise UserError(f"{dataset.path}: a loader needs a dataset preprocessed with {missing}")
    if weighted and not adjacency.has_weights:
        raise UserError(f"{dataset.path}: `weight_attr` is given, but its edges have no weights: preprocess edges with weights")
    return stored, adjacency


def labels_of(dataset: Dataset) -> npt.NDArray[Any] | None:
    labels = dataset.labels
    if labels is None:
        return None
    found = labels.room(dataset.manifest.nodes)
    for k in range(dataset.partitioning.partitions):
        size = dataset.partitioning.size(k)
        found[k * dataset.partitioning.rows :][:size] = labels.reader(k)(np.arange(size))
    return found


def _labelled(labels: npt.NDArray[Any], codes: npt.NDArray[np.uint16]) -> set[int]:
    """Return the codes of types of which a node has a label."""
    there = labels >= 0 if labels.ndim == 1 else (labels >= 0).any(1)
    return set(np.flatnonzero(np.bincount(codes[there])).tolist())


def _rows(
    dataset: Dataset, stored: Features, edges: Adjacency, reached: tuple[int, int], options: LoaderOptions
) -> HostRows | SparseFeatures | PackedRows:
    """Return all features in memory where they fit, sparse where few are not 0; else those used most, and others from packs.

    ``edges``: the in-edge lists. ``reached``: the most nodes and edges of a batch.
    """
    p, stride, nodes = dataset.partitioning, stored.table.stride, dataset.manifest.nodes
    lists = int(edges.starts[-1]) * edges.edge_bytes(options.weight_attr is not None) + 8 * nodes
    known = (8 + (dataset.labels.room(1).nbytes if dataset.labels else 0)) * nodes  # raw ids and labels
    typed = isinstance(edges, TypedEdges)
    known += NODE_BYTES * nodes * typed
    left = options.bytes - lists - known
    if (held := held_sparse(stored, left)) is not None:
        return SparseFeatures(stored, p, held, 0, options.used_threads)
    if p.partitions * stored.table.chunk_bytes <= left:
        buffer = PartitionBuffer(stored.table, p.partitions)
        return HostRows(RowBuffers(stored, buffer, None, 0), p, None, 0, options.used_threads)
    table = PackedTable(nodes, stride)
    packing = table.packing(reached, 0)
    beside = table.memory(packing) + packing.cold * (stride + 4 * stored.width) + PREPARED * packing.sample_bytes
    beside += 4 * stored.width * reached[0] * (options.disjoint + typed)  # rows of trees, and of each type, are copies
    hot = (left - beside) * (LISTS_SHARE - 1) // LISTS_SHARE // stride  # a share is for the ids of a window
    if hot < 0:
        raise UserError(
            f"memory: {format_bytes(options.bytes)} are given, {format_bytes(lists + known + beside)} are needed: in-edges "
            f"{format_bytes(lists)}, ids and labels {format_bytes(known)}, rows of a batch and of those ahead "
            f"{format_bytes(beside)}: give more, or lower batch_size or num_neighbors"
        )
    packing, folder = table.packing(reached, min(hot, nodes)), options.scratch(dataset.path)
    require_space(folder, packing.disk, "a loader's temporary files (`folder` says where they are)")
    return PackedRows(stored, p, packing, folder, 0, options.used_threads)
