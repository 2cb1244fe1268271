"""Neighbourhoods of a batch's nodes, sampled among the partitions in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

import marius_lite._native as _native
from marius_lite.errors import UserError
from marius_lite.graph.adjacency import Adjacency, PartitionLists, source_dtype
from marius_lite.graph.fanouts import Fanout
from marius_lite.graph.partitioning import Partitioning
from marius_lite.types import Rows


class InLists(Protocol):
    """The part of `PartitionLists` that degrees follow from."""

    @property
    def indptr(self) -> npt.NDArray[np.int64]: ...
    @property
    def sources(self) -> npt.NDArray[Any]: ...


@dataclass(frozen=True, slots=True)
class NeighbourSample:
    """What some seeds and their sampled neighbourhoods are, in PyTorch Geometric's order: seeds, new at hop 1, new at hop 2, ...

    A node's *local id* is its place in ``nodes``. Each node but those of the last hop is expanded once, when it is first seen;
    so the first ``hop_nodes[: h + 1].sum()`` nodes are all that h hops reach.

    ``nodes``, ``rows``: node ids and buffer rows, int64 (n,). ``hop_nodes``: nodes first seen at each hop, int32 (hops + 1,).
    ``indptr``, ``indices``: the sampled in-edges of node i come from ``indices[indptr[i] : indptr[i + 1]]``, local ids; int64
    (expanded + 1,) and int32 (edges,). ``rel``: their relations, uint32 (edges,), None where there is one.
    ``hop_edges``: edges sampled at each hop, int32 (hops,).
    ``neighbours``: in-edges that the expanded nodes have in all; ``missing``: those of them whose source was not in memory.
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


def in_degrees(lists: InLists, first: int) -> npt.NDArray[np.float32]:
    """In-degrees of a partition's nodes, the first of which has node id ``first``; their own loops are left out."""
    counts = np.diff(lists.indptr)
    own = np.flatnonzero(lists.sources == np.repeat(np.arange(first, first + len(counts)), counts))
    loops = np.bincount(np.searchsorted(lists.indptr, own, side="right") - 1, minlength=len(counts))
    return (counts - loops).astype(np.float32)


class NeighbourLists:
    """The in-edge lists of the partitions in memory. Those of the next step are read in the background, while this one samples.

    ``weighted``: edges are drawn by their weights, which `Adjacency` must have. ``own_pages``: each array is read into memory
    pages of its own, so that it can be pinned. ``edges_moved``: edges of all the lists that were loaded; what a step costs is in
    proportion to what it adds.
    """

    def __init__(self, adjacency: Adjacency, degrees: bool = False, weighted: bool = False, own_pages: bool = False):
        partitioning = adjacency.partitioning
        narrow = source_dtype(partitioning.nodes) == np.uint32
        kind = _native.NeighbourSampler if narrow else _native.WideNeighbourSampler
        self._sampler = kind(partitioning.rows, partitioning.nodes)
        self._adjacency = adjacency
        self._here: dict[int, tuple[int, PartitionLists]] = {}  # partition -> its first row, its lists
        self._coming: dict[int, Future[PartitionLists]] = {}
        self._degrees = np.zeros(0, np.float32)  # by buffer row
        self.with_degrees = degrees
        self._weighted, self._own_pages = weighted, own_pages
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="adjacency")

    @property
    def edges_moved(self) -> int:
        return int(self._sampler.edges_moved)

    @property
    def here(self) -> Mapping[int, tuple[int, PartitionLists]]:
        """By partition, the buffer row of its first node, and its lists."""
        return self._here

    @property
    def partitioning(self) -> Partitioning:
        return self._adjacency.partitioning

    def prefetch(self, partitions: Iterable[int]) -> None:
        """Start reading the lists of those ``partitions`` that are not here; others that were started are dropped."""
        wanted = set(partitions)
        for k in self._coming.keys() - wanted:
            self._coming.pop(k).cancel()
        self._start(wanted)

    def enter(self, base_rows: Mapping[int, int]) -> None:
        """Have the lists of exactly these partitions; ``base_rows``: the buffer row of each one's first node.

        Raises UserError where the dataset was changed, RunError where it cannot be read.
        """
        for k in self._here.keys() - base_rows.keys():
            self._sampler.leave(k)
            del self._here[k]
        self._move({k: row for k, row in base_rows.items() if k in self._here and self._here[k][0] != row})
        self._start(base_rows.keys())
        for k, row in base_rows.items():
            if k not in self._here:
                lists = self._coming.pop(k).result()
                self._sampler.enter(k, row, lists.indptr, lists.sources, lists.rel, lists.weights)
                self._here[k] = row, lists
                if self.with_degrees:
                    self._keep_degrees(row, in_degrees(lists, k * self._adjacency.partitioning.rows))

    def _move(self, base_rows: Mapping[int, int]) -> None:
        """These partitions go on in other places of the buffer."""
        known = {k: self.degrees(np.arange(self._here[k][0], self._here[k][0] + self._adjacency.partitioning.size(k)))
                 for k in base_rows if self.with_degrees}
        for k, row in base_rows.items():
            self._sampler.move(k, row)
            self._here[k] = row, self._here[k][1]
            if k in known:
                self._keep_degrees(row, known[k])

    def degrees(self, rows: Rows) -> npt.NDArray[np.float32]:
        """The true in-degrees of nodes in memory, their own loops left out, by their buffer rows: (n,) float32.

        Only for lists made with ``degrees``.
        """
        return self._degrees[rows]

    def _keep_degrees(self, row: int, degrees: npt.NDArray[np.float32]) -> None:
        end = row + len(degrees)
        if end > len(self._degrees):
            self._degrees = np.concatenate([self._degrees, np.zeros(end - len(self._degrees), np.float32)])
        self._degrees[row:end] = degrees

    def _start(self, partitions: Iterable[int]) -> None:
        for k in sorted(partitions):
            if k not in self._here and k not in self._coming:
                self._coming[k] = self._pool.submit(self._read, k)

    def _read(self, k: int) -> PartitionLists:
        lists = self._adjacency.read(k, self._weighted, self._own_pages)
        weights = lists.weights
        if weights is not None and len(weights) and not (weights.min() >= 0 and weights.max() < np.inf):
            raise UserError(f"{self._adjacency.folder}: the edges into partition {k} have weights from {weights.min()} to "
                            f"{weights.max()}: `sampling.weighted` takes finite weights of 0 or more: set it to false, or "
                            "preprocess edges with such weights")
        return lists

    def some_sources(self, most: int) -> npt.NDArray[np.int64]:
        """Node ids of the sources of about ``most`` of the in-edges here, evenly taken, as far as they are here themselves.

        A node comes as often as samples touch it, roughly.
        """
        rows = self._adjacency.partitioning.rows
        every = max(1, sum(len(lists.sources) for _, lists in self._here.values()) // most)
        found = [lists.sources[::every].astype(np.int64) for _, lists in self._here.values()]
        ids = np.concatenate([np.empty(0, np.int64), *found])
        return ids[np.isin(ids // rows, list(self._here))]

    def sample(self, seeds: npt.NDArray[np.int64], fanouts: Sequence[Fanout], seed: int, threads: int = 0,
               exclude: npt.NDArray[np.int64] | None = None, both: bool = False) -> NeighbourSample:
        """Sample ``fanouts[h]`` in-neighbours (-1: all) of each node first seen at hop h, without replacement: uniformly, or each
        in proportion to its edge's weight among those not yet drawn, where an edge of weight 0 is only taken by -1.

        A fanout that is an array, int64 (relations,), says how many of each relation. Such hops, and weighted ones, read
        the whole lists of the nodes; what they draw stands in the order of the list.

        ``seeds``: unique node ids of partitions that are here. ``seed``: 0 to 2^64 - 1; what a node draws depends on it, the hop
        and the node alone. ``threads``: 0 for all; they change nothing but the time. ``exclude``: edges (source, destination)
        that are not sampled, int64 (m, 2); with ``both`` the edges back neither. Raises ValueError for seeds that are not here.
        """
        return NeighbourSample(**self._sampler.sample(seeds, list(fanouts), seed, threads, exclude, both))

    def close(self) -> None:
        self.prefetch(())
        self._pool.shutdown()
