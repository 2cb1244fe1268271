"""Sample neighbours where in-edge lists stay on disk: several batches at a time, in one pass over the lists for each hop.

    seeds of several batches ──▶ hop 1: lists of partition 0, 1, 2, ...   each batch draws for its nodes there
                                   │      then each batch numbers what it has drawn
                                   ▼
                                 hop 2: the same for the nodes that hop 1 found, and so on

What a node draws depends on the seed, the hop and the node alone. So the samples are those of lists in memory.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import marius_lite._native as _native
from marius_lite.graph.adjacency import Adjacency, PartitionLists, source_dtype
from marius_lite.graph.fanouts import Fanout
from marius_lite.graph.in_degrees import Counts
from marius_lite.graph.partitioning import Partitioning
from marius_lite.sampling.made_lists import MadeLists
from marius_lite.sampling.neighbours import NeighbourLists, NeighbourSample, read_lists, true_degrees
from marius_lite.types import Rows

Request = tuple[npt.NDArray[np.int64], int]
"""The seeds of a sample, int64 (m,), and the seed of its draws. See `NeighbourLists.sample`."""


class ListsOnDisk:
    """In-edge lists that stay on disk, but for two partitions' at a time. All nodes may be drawn, and a row is a node id.

    ``degrees``, ``weighted``: see `NeighbourLists`. Degrees are kept in memory, 4 bytes a node. ``folder``: where a temporary
    file may be of lists that have to be made, which takes longer than to read them: they are not made again for each pass.
    """

    def __init__(self, adjacency: Adjacency, degrees: bool = False, weighted: bool = False, folder: Path | None = None):
        p = adjacency.partitioning
        kind = _native.NeighbourSampler if source_dtype(p.nodes) == np.uint32 else _native.WideNeighbourSampler
        self._sampler: Any = kind(p.rows, p.nodes, everywhere=True)
        self._adjacency, self._weighted, self.with_degrees = adjacency, weighted, degrees
        self.weighs = adjacency.weighs
        self._folder = folder if adjacency.merging_bytes(weighted) else None
        self._made: MadeLists | None = None
        self._degrees: Counts | None = None
        self._foreseen: dict[int, NeighbourSample] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="adjacency")

    @property
    def edges_moved(self) -> int:
        """How many edges all lists had that were read so far."""
        return int(self._sampler.edges_moved)

    @property
    def partitioning(self) -> Partitioning:
        return self._adjacency.partitioning

    def enter(self, base_rows: Mapping[int, int]) -> None:
        """Make lists and count the in-degrees, where that is asked for and not done yet. Nothing stays resident."""
        if self._folder and self._made is None:
            self._made = MadeLists(self._adjacency, self._weighted, self._folder)
        if self.with_degrees and self._degrees is None:
            self._degrees = true_degrees(self._made or self._adjacency, self.partitioning)

    def prefetch(self, partitions: Iterable[int]) -> None:
        """Do nothing: each pass reads ahead."""

    def degrees(self, rows: Rows) -> Counts:
        """The in-degrees, without self-loops, of nodes: float32 (n,), or (n, 2), see `in_degrees`."""
        assert self._degrees is not None
        return self._degrees[rows]

    def foresee(self, requests: Sequence[Request], fanouts: Sequence[Fanout], threads: int = 0) -> None:
        """Sample for several batches together. `sample` gives each once. Raises UserError where the dataset was changed."""
        growers = [self._sampler.begin(seeds, list(fanouts), seed, threads) for seeds, seed in requests]
        for _ in fanouts:
            needed = np.sum([grower.in_partitions for grower in growers], 0)
            for k, lists in self._read(np.flatnonzero(needed).tolist()):
                self._sampler.enter(k, 0, lists.indptr, lists.sources, lists.carried, lists.weights)
                self._sampler.draw(growers, k)
                self._sampler.leave(k)
            self._sampler.close_hop(growers)
        self._foreseen = {seed: NeighbourSample(**self._sampler.grown(grower)) for (_, seed), grower in zip(requests, growers)}

    def sample(self, seeds: npt.NDArray[np.int64], fanouts: Sequence[Fanout], seed: int, threads: int = 0) -> NeighbourSample:
        """Return what `NeighbourLists.sample` does. It takes passes of its own where it was not foreseen."""
        if seed not in self._foreseen:
            self.foresee([(seeds, seed)], fanouts, threads)
        return self._foreseen.pop(seed)

    def close(self) -> None:
        self._pool.shutdown()
        if self._made:
            self._made.close()

    def _read(self, partitions: Sequence[int]) -> Generator[tuple[int, PartitionLists], None, None]:
        """Yield partitions and their lists, in order. The next one's are read meanwhile."""
        asked: Future[PartitionLists] | None = None
        for at, k in enumerate(partitions):
            lists = (asked or self._ask(k)).result()
            asked = self._ask(partitions[at + 1]) if at + 1 < len(partitions) else None
            yield k, lists

    def _ask(self, k: int) -> Future[PartitionLists]:
        if self._made:
            return self._pool.submit(self._made.read, k)
        return self._pool.submit(read_lists, self._adjacency, k, self._weighted)


AnyLists = NeighbourLists | ListsOnDisk
