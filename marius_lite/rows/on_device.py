"""Train resident rows on a GPU: batches fetch them from the host's buffers and bring them back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor

from marius_lite.config.memory import FEW_ROWS, LOOK_BACK, RING, TOGETHER
from marius_lite.device.accelerator import Accelerator
from marius_lite.device.arrived import ArrivedBatch, Learned
from marius_lite.device.batches import DeviceBatches, NewBatch
from marius_lite.device.cache import FullCache, HotRowCache
from marius_lite.device.rows import DeviceTable, sum_segments
from marius_lite.device.sent import Repeated
from marius_lite.graph.partitioning import Partitioning
from marius_lite.optim.schedule import Rated
from marius_lite.pipeline.batches import Streamed
from marius_lite.rows.batch import Foresee, Learn, Learner, PreparedBatch, finite
from marius_lite.rows.resident import ResidentRows, RowBuffers
from marius_lite.sampling.batch_rows import FilledRows, ReadRows, RowTracker
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.types import Batch, BatchRows, Ids

Found = tuple[PreparedBatch[Any], list[BatchRows | None] | None]
Tracked = tuple[PreparedBatch[Any], list[BatchRows]]
Work = Repeated | Callable[[ArrivedBatch], Learned]


@dataclass(frozen=True, slots=True)
class OnDevice:
    """A batch on the device. See `rows.batch.Arrived`. No call waits for the device."""

    accelerator: Accelerator
    arrived: ArrivedBatch

    def values(self) -> Tensor:
        return self.arrived.side_by_side()

    def tensor(self, name: str) -> Tensor:
        return self.arrived.tensor(name)

    def sum_segments(self, grads: Sequence[Tensor], order: str, starts: str, out: Tensor) -> None:
        sum_segments(self.accelerator, grads, self.arrived.arrays[order], self.arrived.arrays[starts], out)

    def check(self, loss: Tensor, batch: Batch) -> None:
        """Do nothing: the loss is checked when the batch ends."""


class DeviceRows(ResidentRows):
    """Rows trained on a GPU. ``batches``: moves them; it has a table for each of the buffers, in the same order.

    ``at_once``: how many batches are prepared at the same time.
    """

    def __init__(self, buffers: RowBuffers, partitioning: Partitioning, batches: DeviceBatches, at_once: int = 1):
        super().__init__(buffers, partitioning)
        self._batches, self._at_once = batches, at_once

    @property
    def device_room(self) -> int:
        return self._batches.room

    def enter(self, resident: tuple[int, ...], following: Sequence[int]) -> None:
        for _, cache in self._caches():
            cache.leave(resident)
        super().enter(resident, following)
        for buffer, cache in self._caches():
            cache.enter(buffer.resident.base_rows())

    def pipeline(
        self, prepare: Callable[[Any], PreparedBatch[Any]], learn: Learn, foresee: Foresee | None = None
    ) -> Streamed[Any, Found, Tracked]:
        tables = self._batches.tables
        finders, trackers = [_finder(table) for table in tables], [RowTracker(LOOK_BACK, table.hot) for table in tables]

        def found(batch: Any) -> Found:
            prepared = prepare(batch)
            # One thread that prepares leaves it to the one that tracks: together they do more.
            return prepared, find(prepared) if self._at_once > 1 else None

        def find(prepared: PreparedBatch[Any]) -> list[BatchRows | None]:
            return [finder and finder(rows) for finder, rows in zip(finders, prepared.rows, strict=True)]

        def tracked(sampled: Found) -> Tracked:
            prepared, each = sampled
            each = find(prepared) if each is None else each
            return prepared, [rows or tracker.track(places) for rows, tracker, places in zip(each, trackers, prepared.rows)]

        few = all(0 < table.rows <= FEW_ROWS for table in tables)  # 0: known once neighbours are drawn
        together = TOGETHER if few and all(table.spare is not None for table in tables) else 1
        return Streamed(found, tracked, partial(self._begin, self._work_of(learn)), RING, few, self._at_once, together)

    def rated(self) -> Sequence[Rated]:
        return self._batches.tables

    def cache_most_touched(self, touched: Callable[[], Ids]) -> None:
        for table, (_, cache) in enumerate(self._caches()):
            if isinstance(cache, HotRowCache) and not len(cache.hot):
                cache.choose(self.rows_of(table, touched()))

    def flush(self) -> dict[int, int]:
        for _, cache in self._caches():
            cache.write_back()
        return super().flush()

    def release(self) -> dict[int, int]:
        for _, cache in self._caches():
            cache.leave(())
        return super().flush()

    def close(self) -> None:
        try:
            self._batches.close()
        finally:
            super().close()

    def _begin(self, work: Callable[[PreparedBatch[Any]], Work], tracked: Sequence[Tracked]) -> Callable[[], list[float]]:
        end = self._batches.begin([NewBatch(rows, prepared.arrays, work(prepared)) for prepared, rows in tracked])
        return lambda: [finite(loss, prepared.batch) for loss, (prepared, _) in zip(end(), tracked, strict=True)]

    def _work_of(self, learn: Learn) -> Callable[[PreparedBatch[Any]], Work]:
        """Return what gives the work of a batch."""
        there = partial(OnDevice, self._batches.accelerator)

        def whole(prepared: PreparedBatch[Any]) -> Work:
            return lambda arrived: learn(prepared, there(arrived))

        if not isinstance(learn, Learner):  # asked once: it takes as long as a small batch
            return whole
        repeatable = learn

        def repeated(prepared: PreparedBatch[Any]) -> Work:
            alike = repeatable.alike(prepared)
            if alike is None:
                return whole(prepared)
            return Repeated(
                alike,
                lambda: repeatable.seed(prepared),
                lambda arrived: repeatable.seeded(prepared, there(arrived)),
                partial(repeatable.repeated, prepared),
                repeatable.generators,
            )

        return repeated

    def _caches(self) -> list[tuple[PartitionBuffer, FullCache | HotRowCache]]:
        """Return each buffer with the cache of its rows on the device. Either all buffers have one, or none."""
        return [(buffer, table.cache) for buffer, table in zip(self.buffers.all, self._batches.tables) if table.cache]


def _finder(table: DeviceTable) -> Callable[[Ids], BatchRows] | None:
    """Return the function that finds a batch's rows of a table, for several batches at once; None where earlier batches count."""
    if table.step is None:
        return ReadRows(table.hot).divide
    return FilledRows(table.spare).find if table.spare is not None else None
