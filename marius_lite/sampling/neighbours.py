"""Sample the neighbours of a batch's nodes, among the partitions in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

import marius_lite._native as _native
from marius_lite.graph.adjacency import Adjacency, PartitionLists, source_dtype
from marius_lite.graph.fanouts import Fanout
from marius_lite.graph.in_degrees import Counts, InLists, in_degrees
from marius_lite.graph.partitioning import Partitioning
from marius_lite.types import Rows


@dataclass(frozen=True, slots=True)
class NeighbourSample:
    """Seeds and their sampled neighbourhoods, in PyTorch Geometric's order: the seeds, then the new nodes of hop 1, 2, ...

    A node's *local id* is its index in ``nodes``. A node is expanded once, at the hop after it first appears; nodes of the
    last hop are not. So the first ``hop_nodes[: h + 1].sum()`` nodes are all that h hops reach.

    ``nodes``, ``rows``: node ids and buffer rows, int64 (n,). ``hop_nodes``: how many nodes appear first at each hop, int32
    (hops + 1,). ``indptr``, ``indices``: the sampled in-edges of node i come from the local ids
    ``indices[indptr[i] : indptr[i + 1]]``; int64 (expanded + 1,) and int32 (edges,). ``rel``: the relations of these edges,
    uint32 (edges,), None where there is one; or the bits of factors, see `PartitionLists.carried`. ``hop_edges``: how
    many edges are sampled at each hop, int32 (hops,). ``neighbours``: how many in-edges the expanded nodes have. ``missing``: how
    many of these have a source that is not resident.
    """

    nodes: npt.NDArray[np.int64]
    rows: Rows
    hop_nodes: npt.NDArray[np.int32]
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    rel: npt.NDArray[np.uint32] | None
    hop_edges: npt.NDArray[np.int32]
    neighbours: int
    missing: int


def trees_of(sample: NeighbourSample) -> npt.NDArray[np.int32]:
    """Return the tree of each node of `NeighbourLists.sample_trees`, int32 (n,): the place of its seed."""
    trees = np.empty(len(sample.nodes), np.int32)
    seeds, first = int(sample.hop_nodes[0]), 0
    trees[:seeds] = np.arange(seeds)
    for new in sample.hop_nodes[:-1].tolist():
        targets = slice(first, first + new)
        ends = sample.indptr[first : first + new + 1]
        trees[sample.indices[ends[0] : ends[-1]]] = np.repeat(trees[targets], np.diff(ends))
        first += new
    return trees


class ListsReader(Protocol):
    """Reads in-edge lists by partition."""

    def read(self, k: int, *, relations: bool = True) -> InLists: ...


def true_degrees(adjacency: ListsReader, partitioning: Partitioning) -> Counts:
    """Return the in-degrees of all nodes in the whole graph, float32 (nodes,), without self-loops, as GCN counts them; or
    (nodes, 2) where both ends of edges are told apart, see `in_degrees`."""
    degrees: Counts | None = None
    for k in range(partitioning.partitions):
        ids = partitioning.range(k)
        found = in_degrees(adjacency.read(k, relations=False), ids.start)
        if degrees is None:
            degrees = np.empty((partitioning.nodes, *found.shape[1:]), np.float32)
        degrees[ids.start : ids.stop] = found
    assert degrees is not None
    return degrees


def read_lists(adjacency: Adjacency, k: int, weighted: bool, own_pages: bool = False) -> PartitionLists:
    """Read partition k's lists, with weights where edges are ``weighted``. Raises UserError for weights that cannot be drawn by.

    ``own_pages``: see `Adjacency.read`.
    """
    lists = adjacency.read(k, weighted, own_pages)
    if lists.weights is not None:
        adjacency.require_weights(k, lists.weights)
    return lists


class NeighbourLists:
    """The in-edge lists of the resident partitions. Those of the next step are read in the background.

    ``degrees``: in-degrees are kept too. ``weighted``: edges are drawn by their weights, which `Adjacency` must have.
    ``own_pages``: each array is read into memory pages of its own, so that it can be pinned. ``weighs``: whether samples have
    the factors of edges.
    """

    def __init__(self, adjacency: Adjacency, degrees: bool = False, weighted: bool = False, own_pages: bool = False):
        partitioning = adjacency.partitioning
        narrow = source_dtype(partitioning.nodes) == np.uint32
        kind = _native.NeighbourSampler if narrow else _native.WideNeighbourSampler
        self._sampler = kind(partitioning.rows, partitioning.nodes)
        self._adjacency = adjacency
        self._resident: dict[int, tuple[int, PartitionLists]] = {}  # partition -> its first row, its lists
        self._coming: dict[int, Future[PartitionLists]] = {}
        self._degrees: Counts | None = None  # by buffer row
        self.with_degrees = degrees
        self._weighted, self._own_pages = weighted, own_pages
        self.weighs = adjacency.weighs
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="adjacency")

    @property
    def edges_moved(self) -> int:
        """How many edges all lists had that were loaded so far."""
        return int(self._sampler.edges_moved)

    @property
    def resident(self) -> Mapping[int, tuple[int, PartitionLists]]:
        """Of each resident partition, the buffer row of its first node, and its lists."""
        return self._resident

    @property
    def partitioning(self) -> Partitioning:
        return self._adjacency.partitioning

    def prefetch(self, partitions: Iterable[int]) -> None:
        """Begin to read the lists of those ``partitions`` that are not resident. Other reads that were begun are dropped."""
        wanted = set(partitions)
        for k in self._coming.keys() - wanted:
            self._coming.pop(k).cancel()
        self._start(wanted)

    def enter(self, base_rows: Mapping[int, int]) -> None:
        """Make exactly these partitions' lists resident. ``base_rows``: the buffer row of each partition's first node.

        Raises UserError where the dataset was changed, RunError where it cannot be read.
        """
        for k in self._resident.keys() - base_rows.keys():
            self._sampler.leave(k)
            del self._resident[k]
        self._move({k: row for k, row in base_rows.items() if k in self._resident and self._resident[k][0] != row})
        self._start(base_rows.keys())
        for k, row in base_rows.items():
            if k not in self._resident:
                lists = self._coming.pop(k).result()
                self._sampler.enter(k, row, lists.indptr, lists.sources, lists.carried, lists.weights)
                self._resident[k] = row, lists
                if self.with_degrees:
                    self._keep_degrees(row, in_degrees(lists, k * self._adjacency.partitioning.rows))

    def _move(self, base_rows: Mapping[int, int]) -> None:
        """Note that these partitions lie elsewhere in the buffer now."""
        known = {
            k: self.degrees(np.arange(self._resident[k][0], self._resident[k][0] + self._adjacency.partitioning.size(k)))
            for k in base_rows
            if self.with_degrees
        }
        for k, row in base_rows.items():
            self._sampler.move(k, row)
            self._resident[k] = row, self._resident[k][1]
            if k in known:
                self._keep_degrees(row, known[k])

    def degrees(self, rows: Rows) -> Counts:
        """The in-degrees, without self-loops, of resident nodes, by their buffer rows: float32 (n,), or (n, 2), see `in_degrees`.

        All in-edges count, also those that are not resident. Only for lists that were made with ``degrees``.
        """
        assert self._degrees is not None
        return self._degrees[rows]

    def _keep_degrees(self, row: int, degrees: Counts) -> None:
        end, kept = row + len(degrees), degrees[:0] if self._degrees is None else self._degrees
        if end > len(kept):
            kept = np.concatenate([kept, np.zeros((end - len(kept), *degrees.shape[1:]), np.float32)])
        kept[row:end] = degrees
        self._degrees = kept

    def _start(self, partitions: Iterable[int]) -> None:
        for k in sorted(partitions):
            if k not in self._resident and k not in self._coming:
                self._coming[k] = self._pool.submit(read_lists, self._adjacency, k, self._weighted, self._own_pages)

    def some_sources(self, most: int) -> npt.NDArray[np.int64]:
        """Node ids of the sources of about ``most`` resident in-edges, as far as the sources are resident themselves.

        Edges are taken at even distances. So a node appears about as often as samples touch it.
        """
        rows = self._adjacency.partitioning.rows
        every = max(1, sum(len(lists.sources) for _, lists in self._resident.values()) // most)
        found = [lists.sources[::every].astype(np.int64) for _, lists in self._resident.values()]
        ids = np.concatenate([np.empty(0, np.int64), *found])
        return ids[np.isin(ids // rows, list(self._resident))]

    def sample(
        self,
        seeds: npt.NDArray[np.int64],
        fanouts: Sequence[Fanout],
        seed: int,
        threads: int = 0,
        exclude: npt.NDArray[np.int64] | None = None,
        both: bool = False,
        replace: bool = False,
    ) -> NeighbourSample:
        """Sample ``fanouts[h]`` in-neighbours (-1: all) of each node that appears first at hop h.

        All are equally likely; or, where edges are weighted, in proportion to weight among those not yet drawn. An edge of weight
        0 is only taken by -1. A fanout that is an array, int64 (relations,), says how many of each relation. Such hops, and
        weighted ones, read the nodes' whole lists, and keep the order of the lists.

        ``seeds``: unique ids of resident nodes. ``seed``: 0 to 2^64 - 1; what a node draws depends on the seed, the hop and the
        node alone. ``threads``: 0 for all; they change only the time. ``exclude``: edges (source, destination) that are not
        sampled, int64 (m, 2); with ``both``, the edges back are not sampled either. ``replace``: an edge may be drawn again, so
        that a node with in-edges draws as many as its fanout says. Raises ValueError for other seeds.
        """
        return NeighbourSample(**self._sampler.sample(seeds, list(fanouts), seed, threads, exclude, both, replace))

    def sample_trees(
        self, seeds: npt.NDArray[np.int64], fanouts: Sequence[Fanout], seed: int, threads: int = 0, replace: bool = False
    ) -> NeighbourSample:
        """Sample each seed a neighbourhood of its own, a tree. See `sample`; seeds may stand there twice.

        What a node draws depends on the seed, the place of the tree among ``seeds``, the hop and the node. A node has a local id
        in each tree that it is in. The nodes of a hop, and its edges, are in order of trees. `trees_of` tells the trees.
        """
        return NeighbourSample(**self._sampler.sample_trees(seeds, list(fanouts), seed, threads, replace))

    def edges_among(
        self, nodes: npt.NDArray[np.int64], trees: npt.NDArray[np.int32] | None = None, threads: int = 0
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.uint32] | None]:
        """Return all in-edges of resident ``nodes`` (n,) that come from one of them: indptr (n + 1,), indices and rel (edges,).

        The in-edges of node i come from the places ``indices[indptr[i] : indptr[i + 1]]``, in order of node ids. ``trees``: of
        each node, int32 (n,): a node then stands once in a tree, and edges lie inside of one. Raises ValueError for other nodes.
        """
        found = self._sampler.edges_among(nodes, trees, threads)
        return found["indptr"], found["indices"], found["rel"]

    def close(self) -> None:
        self.prefetch(())
        self._pool.shutdown()
