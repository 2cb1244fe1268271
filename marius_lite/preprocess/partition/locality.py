"""Partitions with few edges between them: label propagation on several levels, neighbour lists read from disk in passes.

    lists --cluster, contract, again and again--> smaller lists, in which each node stands for a cluster
    the order of the smallest lists, unfolded level by level, cut into p stretches --> first partitions
    from there level by level back to the nodes: refine, then move what is too much where it costs least

After Meyerhenke, Sanders and Schulz (SEA 2014) and, for lists on disk, Akhremtsev, Sanders and Schulz (ALENEX 2015). They use a
partitioner for the smallest graph. Here clustering goes on until one cluster is left: nodes that are close in that hierarchy are
close in its order.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from marius_lite import files
from marius_lite._native import ClusterPass, Contraction, RefinePass, deal_nodes, lay_out, number_clusters
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.disk.sort import ExternalSort
from marius_lite.preprocess.partition.arcs import ArcLists
from marius_lite.progress_bar import progress_bar
from marius_lite.seeds import seed_for

Parts = npt.NDArray[np.uint16]
Numbers = npt.NDArray[np.uint32]
Loads = npt.NDArray[np.int64]  # (groups, partitions)

NODE_BYTES = 16  # in memory, for each node
LEVEL_ARC_BYTES, LEVEL_NODE_BYTES = 12, 8  # on disk, in the lists of all levels; weights and parents
CLUSTERS_PER_PARTITION = 32  # at least: no cluster is larger than a 32nd of a partition
CLUSTER_PASSES, REFINE_PASSES, FILL_PASSES = 4, 6, 3
SETTLED = 50  # passes end when fewer than a 50th of the nodes move
SHRUNK = 0.8  # where more of the nodes or arcs are left, clusters of this size are found
MOST_SLACK, SLACK_CLUSTERS = 0.03, 4  # what a partition may have too much while refining: a share of it, mean clusters
LOSSES = (0, 1, 4, 16, 64, 256, 1024, 4096, 1 << 16)  # in 256ths of an edge for each node moved
ANY_LOSS = 1 << 40
SLICE = 1 << 20


@dataclass(frozen=True)
class Level:
    """A graph whose nodes are clusters. ``folder`` holds ``weights`` (real nodes in each) and ``parents`` (its cluster one level
    up)."""

    folder: Path
    nodes: int
    lists: ArcLists

    def save(self, name: str, values: Numbers) -> None:
        (self.folder / name).write_bytes(values.data)

    def load(self, name: str) -> Numbers:
        return files.read_numbers(self.folder / name, np.uint32)

    @property
    def weights(self) -> Numbers | None:
        """Real nodes in each node; None for the graph of real nodes."""
        return self.load("weights") if (self.folder / "weights").exists() else None


def levels_bytes(arcs: int, nodes: int) -> int:
    """What all levels take on disk at most."""
    return arcs * LEVEL_ARC_BYTES + nodes * LEVEL_NODE_BYTES


class Locality:
    """Works in ``folder``, which holds the lists. ``memory`` in bytes is for sorting. Up to 16 bytes a node come on top: up to
    four numbers while clusters are found or laid out, or partitions of 2 bytes.
    """

    def __init__(self, folder: Path, partitioning: Partitioning, memory: int, threads: int, seed: int):
        self._folder, self._partitioning, self._seed = folder, partitioning, seed
        self._memory, self._threads = memory, threads

    def find(self, lists: ArcLists, first: int) -> Parts:
        """Return the partition of each node, every partition exactly as full as it must be. Removes ``folder``, with ``lists``.

        ``first``: so many nodes must fill the first partitions.
        """
        nodes = self._partitioning.nodes
        with progress_bar("partition", "B") as self._bar:
            levels, base = self._coarsen(Level(self._folder, nodes, lists))
            parts = self._first_parts(levels, base)
            for below, level in reversed(list(pairwise(levels[: base + 1]))):
                self._refine(level, parts, nodes)
                parts = _inherited(parts, below.load("parents"))
            deal_nodes(parts, first, self.room(first))
            self._fill(levels[0], parts, first)
        files.remove_tree(self._folder)
        return parts

    def fill(self, lists: ArcLists, parts: Parts, first: int) -> None:
        """Move nodes where it costs least, until every partition is exactly as full as it must be."""
        with progress_bar("partition", "B") as self._bar:
            self._fill(Level(self._folder, self._partitioning.nodes, lists), parts, first)

    def _fill(self, level: Level, parts: Parts, first: int) -> None:
        self._refine(level, parts, first)
        deal_nodes(parts, first, self.room(first))

    def _coarsen(self, level: Level) -> tuple[list[Level], int]:
        """Return levels, each of the clusters of the one before, up to a single cluster; and the level from which on down
        partitions are refined."""
        levels, base = [level], 0
        most = max(1, self._partitioning.rows // CLUSTERS_PER_PARTITION)
        while level.nodes > 1:
            above = self._contract(level, len(levels), most)
            levels.append(above)
            if not base and (above.nodes > SHRUNK * level.nodes or above.lists.arcs > SHRUNK * level.lists.arcs):
                base = len(levels) - 1
            if base:
                most *= 2
            if base and len(levels) - 2 > base:
                level.lists.remove()
            level = above
        return levels, base or len(levels) - 1

    def _contract(self, level: Level, number: int, most: int) -> Level:
        """Return the graph of clusters of at most ``most`` real nodes."""
        labels, weights = self._cluster(level, number, most)
        level.save("parents", labels)
        folder = self._folder / str(number)
        folder.mkdir()
        sorter = ExternalSort(folder / "runs", self._memory, self._threads, level.lists.arcs)
        contraction = Contraction(labels)
        for block in level.lists.blocks(self._bar.update):
            _move(contraction, contraction.read(block), sorter)
        _move(contraction, contraction.finish(), sorter)
        above = Level(folder, len(weights), ArcLists(folder / "lists", sorter.sorted(), self._memory))
        above.save("weights", weights)
        return above

    def _cluster(self, level: Level, number: int, most: int) -> tuple[Numbers, Numbers]:
        """Return (cluster of each node, real nodes in each cluster)."""
        weights = level.weights
        labels = np.arange(level.nodes, dtype=np.uint32)
        sizes = np.ones(level.nodes, np.uint32) if weights is None else weights.copy()
        for turn in range(CLUSTER_PASSES):
            one = ClusterPass(labels, sizes, weights, most, seed_for(self._seed, "locality", step=number, batch=turn))
            for block in level.lists.blocks(self._bar.update):
                one.read(block)
            if one.finish() * SETTLED < level.nodes:
                break
        used = sizes[sizes > 0]
        number_clusters(labels, sizes)
        return labels, used

    def _first_parts(self, levels: list[Level], base: int) -> Parts:
        """Put the nodes of level ``base`` in the order of the hierarchy, and cut it where a partition is full."""
        starts = np.zeros(1, np.uint32)
        for level in reversed(levels[base:-1]):
            weights = level.weights
            free, starts = starts, np.empty(level.nodes, np.uint32)
            lay_out(level.load("parents"), np.ones(level.nodes, np.uint32) if weights is None else weights, free, starts)
        weights = levels[base].weights
        if weights is not None:
            starts += weights // 2
        return np.asarray(starts // self._partitioning.rows, np.uint16)

    def _refine(self, level: Level, parts: Parts, first: int) -> None:
        """Move nodes so that fewer arcs cross partitions; then out of partitions that are too full, as far as single moves
        can."""
        weights, exact = level.weights, self.room(first)
        mean = self._partitioning.nodes / level.nodes
        slack = int(min(MOST_SLACK * self._partitioning.rows, SLACK_CLUSTERS * mean))
        loose = np.where(exact > 0, exact + slack, 0)
        loads = self._loads(parts, weights, first)
        for _ in range(REFINE_PASSES):
            if self._pass(level, weights, parts, loads, loose, first, 0) * SETTLED < level.nodes:
                break
        last, room = (ANY_LOSS, exact) if weights is None else (LOSSES[-1], loose)
        for loss in (*LOSSES, last):
            for _ in range(FILL_PASSES):
                if (loads <= room).all() or not self._pass(level, weights, parts, loads, room, first, loss):
                    break

    def _pass(self, level: Level, weights: Numbers | None, parts: Parts, loads: Loads, room: Loads, first: int, loss: int) -> int:
        one = RefinePass(parts, loads, room, weights, first, loss)
        for block in level.lists.blocks(self._bar.update):
            one.read(block)
        return int(one.finish())

    def room(self, first: int) -> Loads:
        """Return (2, partitions): how many of the first nodes, and of the others, each partition takes."""
        rows, p = self._partitioning.rows, self._partitioning.partitions
        sizes = np.array([self._partitioning.size(k) for k in range(p)], np.int64)
        ours = np.clip(first - rows * np.arange(p, dtype=np.int64), 0, sizes)
        return np.stack([ours, sizes - ours])

    def _loads(self, parts: Parts, weights: Numbers | None, first: int) -> Loads:
        """Return what each group of nodes (the first ones, the others) weighs in each partition. Counted slice by slice."""
        loads = np.zeros((2, self._partitioning.partitions), np.int64)
        for group, (begin, end) in enumerate(((0, first), (first, len(parts)))):
            for at in range(begin, end, SLICE):
                part = slice(at, min(at + SLICE, end))
                weighed = np.bincount(parts[part], None if weights is None else weights[part], minlength=loads.shape[1])
                loads[group] += weighed.astype(np.int64)
        return loads


def _inherited(parts: Parts, parents: Numbers) -> Parts:
    """Return each node's partition, which is its cluster's. Slice by slice, because numpy widens indices."""
    own = np.empty(len(parents), np.uint16)
    for at in range(0, len(parents), SLICE):
        own[at : at + SLICE] = parts[parents[at : at + SLICE]]
    return own


def _move(contraction: Contraction, waiting: int, sorter: ExternalSort) -> None:
    """Move the arcs that wait in the contraction into the sort."""
    while waiting:
        count = min(waiting, sorter.capacity)
        contraction.take(sorter.room(count))
        sorter.keep(count)
        waiting -= count
