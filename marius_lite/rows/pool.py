"""Rows of nodes that are in memory together, wherever their partitions lie: those that a window of batches takes.

Rows that are learned change with every batch, so a batch must find what the one before it left. All rows of a window are in one
place, where batches change them. Between two windows, one pass over the partitions puts rows back that the next one does not
take, and brings those that it takes and the pool has not. Partitions come and go whole, past the page cache, compared with
checksums, each read while the one before it is handled, and written meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from marius_lite.config.pooling import Pooling
from marius_lite.graph.partitioning import Partitioning
from marius_lite.rows.resident import RowBuffers
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.types import Ids

NOWHERE = -1
"""The place of a node whose row is not in the pool, and the node of a place that is free."""
NONE: Ids = np.empty(0, np.int64)


class _Visit(NamedTuple):
    """A partition that is visited, its first node, and the one that is ``following``, if any.

    ``out``, ``into``: which of the nodes that leave, and of those that come, are in it.
    """

    partition: int
    first: int
    following: list[int]
    out: slice
    into: slice


class RowPool:
    """The rows of some nodes, in ``memory``: for each of the ``buffers`` (places, width), as its table stores them.

    Place i has rows of the same node in all of them. Those of the last buffer are learned. ``pooling`` says how many places there
    are. They become more where a window has more rows, which takes a fanout of -1.
    """

    def __init__(self, buffers: RowBuffers, partitioning: Partitioning, pooling: Pooling):
        assert buffers.learned is not None
        self.buffers, self.partitioning, self.pooling = buffers, partitioning, pooling
        self._learned = buffers.learned
        self.memory: list[npt.NDArray[Any]] = [
            np.empty((pooling.rows, buffer.table.width), buffer.table.dtype) for buffer in buffers.all
        ]
        self._place_of = np.full(partitioning.nodes, NOWHERE, np.int32)
        self._node_at = np.full(pooling.rows, NOWHERE, np.int64)
        self._changed = np.zeros(pooling.rows, bool)

    def places(self, nodes: Ids) -> Ids:
        """Return the places of nodes whose rows are in the pool."""
        return self._place_of[nodes].astype(np.int64)

    def nodes_at(self, places: Ids) -> Ids:
        """Return the nodes whose rows are at these places."""
        return self._node_at[places]

    def changed(self, places: Ids) -> None:
        """Take note that the learned rows at these places were changed."""
        self._changed[places] = True

    def bring(self, nodes: Ids, stop: threading.Event) -> bool:
        """Bring the rows of distinct ``nodes``, ascending. Others may go. Nobody uses rows meanwhile; no view of `memory` exists.

        False: ``stop`` was set, and some are missing. Raises RunError.
        """
        self._grow(len(nodes))
        places = self._place_of[nodes]
        new, stays = nodes[places == NOWHERE], np.zeros(len(self._node_at), bool)
        stays[places[places != NOWHERE]] = True
        taken = self._node_at != NOWHERE
        others = np.flatnonzero(taken & ~stays)
        leaving = others[: max(0, len(new) - int(len(taken) - taken.sum()))]
        unchanged = leaving[~self._changed[leaving]]
        self._free(unchanged, self._node_at[unchanged])
        return self._exchange(leaving[self._changed[leaving]], new, stop)

    def flush(self) -> dict[int, int]:
        """Write all changed rows. What is in the pool stays. Nobody changes rows meanwhile.

        Returns the checksums of the learned rows' files. Raises RunError.
        """
        places = np.flatnonzero(self._changed)
        places = places[np.argsort(self._node_at[places])]
        nodes = self._node_at[places]
        for visit in self._visits(nodes, NONE):
            self._put_back(self._entered(self._learned, visit), visit, places, nodes)
        return self._learned.flush()

    def _grow(self, rows: int) -> None:
        if rows <= len(self._node_at):
            return
        for each in self.memory:
            each.resize((rows, each.shape[1]), refcheck=False)
        more = rows - len(self._node_at)
        self._node_at = np.concatenate([self._node_at, np.full(more, NOWHERE)])
        self._changed = np.concatenate([self._changed, np.zeros(more, bool)])

    def _exchange(self, leaving: Ids, new: Ids, stop: threading.Event) -> bool:
        """Put the changed rows at the ``leaving`` places back, and bring those of ``new`` nodes. False: ``stop`` was set."""
        leaving = leaving[np.argsort(self._node_at[leaving])]
        nodes, free = self._node_at[leaving], np.flatnonzero(self._node_at == NOWHERE)
        room = np.concatenate([free, np.empty_like(leaving)])  # free places, in a queue: taken from its head, added at its tail
        head, tail = 0, len(free)
        for visit in self._visits(nodes, new):
            if stop.is_set():
                return False
            going, coming = leaving[visit.out], new[visit.into]
            learned = self._entered(self._learned, visit)
            self._put_back(learned, visit, leaving, nodes)
            self._free(going, nodes[visit.out])
            room[tail : tail + len(going)] = going
            to, head, tail = room[head : head + len(coming)], head + len(coming), tail + len(going)
            if len(coming):
                self.memory[-1][to] = learned[coming - visit.first]
                if features := self.buffers.features:
                    self.memory[0][to] = self._entered(features, visit)[coming - visit.first]
            self._node_at[to] = coming
            self._place_of[coming] = to
        return True

    def _put_back(self, rows: npt.NDArray[Any], visit: _Visit, places: Ids, nodes: Ids) -> None:
        """Write the rows at those of the ``places`` that leave at a visit into the ``rows`` there. ``nodes``: whose they are."""
        if visit.out.start < visit.out.stop:
            rows[nodes[visit.out] - visit.first] = self.memory[-1][places[visit.out]]
            self._learned.mark_dirty([visit.partition])
            self._changed[places[visit.out]] = False

    def _entered(self, buffer: PartitionBuffer, visit: _Visit) -> npt.NDArray[Any]:
        """Return the rows of the partition that is visited, of one table. The one that is visited next is read meanwhile."""
        return buffer.enter([visit.partition], visit.following).view(visit.partition)

    def _visits(self, leaving: Ids, new: Ids) -> Iterator[_Visit]:
        """Yield in which order partitions are visited, for nodes whose rows leave and come. Both ascend.

        Those come first that more rows leave for than come from: so there are always free places for those that come.
        """
        size = self.partitioning.rows
        visited = np.union1d(leaving // size, new // size)
        outs, intos = [np.searchsorted(nodes, [visited * size, (visited + 1) * size]).T for nodes in (leaving, new)]
        order = np.argsort(np.diff(intos, axis=1)[:, 0] - np.diff(outs, axis=1)[:, 0], kind="stable").tolist()
        for at, after in zip(order, [*order[1:], None]):
            following = [] if after is None else [int(visited[after])]
            yield _Visit(int(visited[at]), int(visited[at]) * size, following, slice(*outs[at]), slice(*intos[at]))

    def _free(self, places: Ids, nodes: Ids) -> None:
        self._place_of[nodes] = NOWHERE
        self._node_at[places] = NOWHERE
