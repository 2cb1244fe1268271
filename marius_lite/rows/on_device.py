"""Resident rows that batches bring to a GPU and back, while other batches compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor

from marius_lite.config.memory import LOOK_BACK, RING
from marius_lite.device.accelerator import Accelerator
from marius_lite.device.batches import ArrivedBatch, DeviceBatches
from marius_lite.device.held import HotRows, Mirror
from marius_lite.device.rows import DeviceTable, sum_segments
from marius_lite.graph.partitioning import Partitioning
from marius_lite.nn.model import finite
from marius_lite.optim.schedule import Rated
from marius_lite.pipeline.batches import Streamed
from marius_lite.rows.batch import Learn, PreparedBatch
from marius_lite.rows.resident import Ids, ResidentRows, RowBuffers
from marius_lite.sampling.batch_rows import RowTracker, read_rows
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.types import Batch, BatchRows

Tracked = tuple[PreparedBatch[Any], list[BatchRows]]


@dataclass(frozen=True, slots=True)
class OnDevice:
    """See `rows.batch.Arrived`. Nothing here waits for the device."""

    accelerator: Accelerator
    arrived: ArrivedBatch

    def values(self) -> Tensor:
        return self.arrived.beside()

    def tensor(self, name: str) -> Tensor:
        return self.arrived.tensor(name)

    def sum_segments(self, grads: Sequence[Tensor], order: str, starts: str, out: Tensor) -> None:
        sum_segments(self.accelerator, grads, self.arrived.arrays[order], self.arrived.arrays[starts], out)

    def check(self, loss: Tensor, batch: Batch) -> None:
        """It is checked when the batch ends."""


class DeviceRows(ResidentRows):
    """``batches``: a table for each of the buffers."""

    def __init__(self, buffers: RowBuffers, partitioning: Partitioning, batches: DeviceBatches):
        super().__init__(buffers, partitioning)
        self._batches = batches

    def enter(self, resident: tuple[int, ...], following: Sequence[int]) -> None:
        for _, held in self._held():
            held.leave(resident)
        super().enter(resident, following)
        for buffer, held in self._held():
            held.enter({k: buffer.base_row(k) for k in resident})

    def pipeline(self, prepare: Callable[[Any], PreparedBatch[Any]], learn: Learn) -> Streamed[Any, Tracked]:
        trackers = [_tracker(table) for table in self._batches.tables]

        def tracked(batch: Batch) -> Tracked:
            prepared = prepare(batch)
            return prepared, [track(rows) for track, rows in zip(trackers, prepared.rows, strict=True)]

        return Streamed(tracked, partial(self._begin, learn), RING)

    def rated(self) -> Sequence[Rated]:
        return self._batches.tables

    def hold_most_touched(self, touched: Callable[[], Ids]) -> None:
        for table, (_, held) in enumerate(self._held()):
            if isinstance(held, HotRows) and not len(held.hot):
                held.choose(self.rows_of(table, touched()))

    def flush(self) -> dict[int, int]:
        for _, held in self._held():
            held.settle()
        return super().flush()

    def release(self) -> dict[int, int]:
        for _, held in self._held():
            held.leave(())
        return super().flush()

    def close(self) -> None:
        self._batches.close()
        super().close()

    def _begin(self, learn: Learn, tracked: Tracked) -> Callable[[], float]:
        prepared, rows = tracked
        end = self._batches.begin(rows, prepared.arrays,
                                  lambda arrived: learn(prepared, OnDevice(self._batches.accelerator, arrived)))
        return lambda: finite(end(), prepared.batch)

    def _held(self) -> list[tuple[PartitionBuffer, Mirror | HotRows]]:
        """What is held on the device of each buffer's rows: all of them something, or none."""
        return [(buffer, table.held) for buffer, table in zip(self.buffers.all, self._batches.tables) if table.held]


def _tracker(table: DeviceTable) -> Callable[[Ids], BatchRows]:
    """What names the rows of a table that a batch takes."""
    return RowTracker(LOOK_BACK, table.hot).track if table.update else partial(read_rows, hot=table.hot)
