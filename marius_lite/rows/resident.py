"""Own the rows of the resident partitions: what rows on the host and rows on a GPU have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from marius_lite.graph.features import Features
from marius_lite.graph.partitioning import Partitioning
from marius_lite.optim.schedule import Rated
from marius_lite.pipeline.batches import Stages, Streamed
from marius_lite.rows.batch import Foresee, Learn, PreparedBatch
from marius_lite.storage.buffer import PartitionBuffer, PastTransfer
from marius_lite.storage.table import RowTable
from marius_lite.types import Batch, Ids


@dataclass(frozen=True)
class RowBuffers:
    """The buffers of what nodes begin with: ``features``, then the first ``dim`` numbers of the ``learned`` rows, or one of both.

    ``stored``: how the features are stored.
    """

    stored: Features | None
    features: PartitionBuffer | None
    learned: PartitionBuffer | None
    dim: int

    @property
    def all(self) -> list[PartitionBuffer]:
        """The buffers that there are, in this order."""
        return [buffer for buffer in (self.features, self.learned) if buffer is not None]

    @property
    def main(self) -> PartitionBuffer:
        """The buffer whose rows stand in edges and samples."""
        return self.all[-1]

    def close(self) -> None:
        """Close each buffer, also where another one fails."""
        with ExitStack() as stack:
            for buffer in self.all:
                stack.callback(buffer.close)


class ResidentRows(ABC):
    """Owns the buffers of a run, and the way of batches to them. Only the stages of `pipeline` may run in several threads."""

    def __init__(self, buffers: RowBuffers, partitioning: Partitioning):
        self.buffers, self.partitioning = buffers, partitioning
        self.resident: tuple[int, ...] = ()
        self._base_rows: list[Ids] = []
        self._later: Callable[[], Iterable[Batch]] = tuple
        self._partition_of_slot: Ids = np.empty(0, np.int64)

    @property
    def main(self) -> PartitionBuffer:
        return self.buffers.main

    @property
    def device_room(self) -> int:
        """Bytes of memory that are free on the device that trains; 0 on the CPU."""
        return 0

    @property
    def learned(self) -> RowTable | None:
        """The table of the learned rows, where there are any."""
        return self.buffers.learned.table if self.buffers.learned else None

    def base_rows(self) -> dict[int, int]:
        """Return the first row of each resident partition in the main buffer."""
        return self.main.resident.base_rows()

    def enter(self, resident: tuple[int, ...], following: Sequence[int]) -> None:
        """Make partitions resident, and begin to load the ``following`` ones."""
        self.resident, self._base_rows = resident, []
        for buffer in self.buffers.all:
            first = buffer.enter(resident, following).base_rows()
            bases = np.full(self.partitioning.partitions, -1, np.int64)
            bases[list(first)] = list(first.values())
            self._base_rows.append(bases)
        self._partition_of_slot = np.full(self.main.slots, -1, np.int64)
        for k, base in self.base_rows().items():
            self._partition_of_slot[base // self.main.slot_rows] = k

    def node_ids(self, rows: Ids) -> Ids:
        """Return the node ids of rows of the main buffer."""
        slot, offset = np.divmod(rows, self.main.slot_rows)
        ids: Ids = self._partition_of_slot[slot] * self.partitioning.rows + offset
        return ids

    def rows_of(self, table: int, nodes: Ids) -> Ids:
        """Return the rows of resident nodes in a table's buffer. ``table``: its place among the buffers."""
        partition, offset = np.divmod(nodes, self.partitioning.rows)
        rows: Ids = self._base_rows[table][partition] + offset
        return rows

    def each_table(self, rows: Ids, nodes: Ids) -> list[Ids]:
        """Return the rows of ``nodes`` in each table. ``rows``: those of the main buffer."""
        last = len(self.buffers.all) - 1
        return [rows if table == last else self.rows_of(table, nodes) for table in range(last + 1)]

    def mark_changed(self) -> None:
        """Take note that batches change the resident learned rows from now on."""
        if self.buffers.learned:
            self.buffers.learned.mark_dirty(self.resident)

    def comes_next(self, batches: Callable[[], Iterable[Batch]]) -> None:
        """Take note of the ``batches`` behind those that are trained next. They may be prepared while these are trained."""
        self._later = batches

    @abstractmethod
    def pipeline(
        self, prepare: Callable[[Any], PreparedBatch[Any]], learn: Learn, foresee: Foresee | None = None
    ) -> Stages[Any, Any, Any, Any] | Streamed[Any, Any, Any]:
        """Return the stages for one run of the pipeline. They change the learned rows by the gradients that ``learn`` gives.

        ``foresee``: told of several batches before they are prepared, where that helps.
        """

    @abstractmethod
    def rated(self) -> Sequence[Rated]:
        """Return all that has a learning rate."""

    @abstractmethod
    def cache_most_touched(self, touched: Callable[[], Ids]) -> None:
        """Cache the rows of the nodes that ``touched`` names most often on the device, as far as there is room."""

    def flush(self) -> dict[int, int]:
        """Write the changed partitions. Returns the checksums of the learned rows' files. What is resident stays."""
        return self.buffers.learned.flush() if self.buffers.learned else {}

    def keep(self, partitions: Sequence[int]) -> dict[int, int]:
        """Give up all partitions but these, and wait until the changed ones are written. Returns the checksums as `flush` does.

        What is kept need not be written.
        """
        self.enter(tuple(partitions), ())
        return self.buffers.learned.await_writes() if self.buffers.learned else {}

    def release(self) -> dict[int, int]:
        """Do as `flush`. Afterwards others may enter the buffers: what was resident is no longer alive then."""
        return self.flush()

    def counters(self) -> dict[str, float]:
        """Return what the buffers read, wrote and waited so far."""
        counted = [buffer.counters() for buffer in self.buffers.all]
        return {key: sum(each[key] for each in counted) for key in counted[0]}

    def take_past(self) -> list[PastTransfer]:
        """Return the loads and writes of partitions that ended since the last call."""
        return [each for buffer in self.buffers.all for each in buffer.take_past()]

    def close(self) -> None:
        self.buffers.close()


class RowsByNode(ResidentRows):
    """Rows of features that are only read. For the task and its encoder a row is a node id, whatever is resident."""

    def enter(self, resident: tuple[int, ...], following: Sequence[int]) -> None:
        self.resident = resident

    def base_rows(self) -> dict[int, int]:
        return {k: k * self.partitioning.rows for k in self.resident}

    def node_ids(self, rows: Ids) -> Ids:
        return rows

    def each_table(self, rows: Ids, nodes: Ids) -> list[Ids]:
        return [nodes]
