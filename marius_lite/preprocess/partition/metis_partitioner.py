"""Partitions by METIS (Karypis and Kumar, SIAM J. Sci. Comput. 1998), through its package, where the graph fits in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from marius_lite import files
from marius_lite._native import ListsBetween
from marius_lite.errors import UserError
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.partition.arcs import ArcLists
from marius_lite.preprocess.partition.locality import Locality, Parts
from marius_lite.seeds import seed_for
from marius_lite.sizes import format_bytes

ARC_BYTES, NODE_BYTES = 112, 256
"""The most that METIS and its arguments took when measured, on graphs of 3 to 40 arcs a node."""


class Metis:
    """Works like `Locality` in ``folder``, which holds the lists, but the whole graph must fit in ``memory`` bytes."""

    def __init__(self, folder: Path, partitioning: Partitioning, memory: int, threads: int, seed: int):
        self._folder, self._partitioning, self._memory, self._seed = folder, partitioning, memory, seed
        self._locality = Locality(folder, partitioning, memory, threads, seed)

    def find(self, lists: ArcLists, first: int) -> Parts:
        """Return the partition of each node, every partition exactly as full as it must be. Removes ``folder``, with ``lists``.

        The ``first`` nodes must fill the first partitions. So METIS partitions them and the others apart: arcs between the two
        groups are cut in any case. Then `Locality` moves what is too much. The same seed gives the same partitions. Raises
        UserError where METIS needs more than the memory.
        """
        nodes = self._partitioning.nodes
        needed = lists.arcs * ARC_BYTES + nodes * NODE_BYTES
        if needed > self._memory:
            raise UserError(
                f"--partitioner metis: METIS holds the graph in memory: {nodes:,} nodes and {lists.arcs:,} arcs need "
                f"about {format_bytes(needed)}, --memory leaves {format_bytes(self._memory)} for it: allow more, or "
                "use locality, which reads the graph from disk"
            )
        parts = np.empty(nodes, np.uint16)
        for (begin, end), room in zip(((0, first), (first, nodes)), self._locality.room(first)):
            if begin < end:
                parts[begin:end] = self._among(lists, begin, end, room)
        self._locality.fill(lists, parts, first)
        files.remove_tree(self._folder)
        return parts

    def _among(self, lists: ArcLists, begin: int, end: int, room: np.ndarray) -> np.ndarray:
        """Return partitions of the nodes [begin, end), about ``room`` of them in each."""
        import pymetis

        taken = np.flatnonzero(room)
        starts = np.empty(end - begin + 1, np.int64)
        targets, weights = np.empty(lists.arcs, np.int64), np.empty(lists.arcs, np.int64)
        between = ListsBetween(begin, end, self._partitioning.nodes, starts, targets, weights)
        for block in lists.blocks(lambda _: None):
            between.read(block)
        arcs = int(between.finish())
        if len(taken) == 1 or not arcs:
            return np.repeat(taken, room[taken])
        graph = pymetis.CSRAdjacency(starts, targets[:arcs])
        options = pymetis.Options(seed=seed_for(self._seed, "metis", step=int(begin > 0)) % (1 << 31))
        _, places = pymetis.part_graph(
            len(taken), graph, eweights=weights[:arcs], tpwgts=(room[taken] / room.sum()).tolist(), options=options
        )
        chosen: np.ndarray = taken[np.asarray(places)]
        return chosen
