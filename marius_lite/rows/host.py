"""Train resident rows on the host: the CPU gathers the rows of a batch into tensors, and applies its gradients to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from marius_lite._native import segment_sum
from marius_lite.graph.partitioning import Partitioning
from marius_lite.nn.model import finite
from marius_lite.optim.rows import HostRowUpdater
from marius_lite.optim.schedule import Rated
from marius_lite.pipeline.batches import Stages
from marius_lite.rows.batch import Arrays, Learn, PreparedBatch
from marius_lite.rows.host_gather import HostGather
from marius_lite.rows.resident import Ids, ResidentRows, RowBuffers
from marius_lite.types import Batch, RowGrads


@dataclass(frozen=True, slots=True)
class OnHost:
    """A batch on the host. See `rows.batch.Arrived`."""

    gathered: Sequence[Tensor]
    arrays: Arrays

    def values(self) -> Tensor:
        return self.gathered[0] if len(self.gathered) == 1 else torch.cat(list(self.gathered), 1)

    def tensor(self, name: str) -> Tensor:
        return torch.from_numpy(self.arrays[name])

    def sum_segments(self, grads: Sequence[Tensor], order: str, starts: str, out: Tensor) -> None:
        segment_sum([grad.numpy() for grad in grads], self.arrays[order], self.arrays[starts], out.numpy())

    def check(self, loss: Tensor, batch: Batch) -> None:
        finite(float(loss), batch)


Gathered = tuple[PreparedBatch[Any], OnHost]


class HostRows(ResidentRows):
    """Rows trained on the host. ``updater``: what changes the learned rows. ``staleness``: batches gathered before an update."""

    def __init__(self, buffers: RowBuffers, partitioning: Partitioning, updater: HostRowUpdater, staleness: int, threads: int):
        super().__init__(buffers, partitioning)
        self._updater = updater
        ring = staleness + 2 if staleness else 1
        self._gathers = []
        if buffers.features and buffers.stored:
            stored = buffers.stored
            self._gathers.append(HostGather(buffers.features.rows, stored.width, ring, threads, stored.type, stored.scales))
        if buffers.learned:
            self._gathers.append(HostGather(buffers.learned.rows, buffers.dim, ring, threads))

    def pipeline(
        self, prepare: Callable[[Any], PreparedBatch[Any]], learn: Learn
    ) -> Stages[Any, PreparedBatch[Any], Gathered, RowGrads]:
        def learned(gathered: Gathered) -> tuple[float, RowGrads]:
            prepared, arrived = gathered
            loss, grads = learn(prepared, arrived)
            return float(loss), RowGrads(prepared.rows[-1:], grads)

        return Stages(prepare, self._gather, learned, self._apply)

    def rated(self) -> Sequence[Rated]:
        return [self._updater]

    def cache_most_touched(self, touched: Callable[[], Ids]) -> None:
        """Do nothing: rows are trained where they lie."""

    def _gather(self, prepared: PreparedBatch[Any]) -> Gathered:
        gathered = [gather(rows) for gather, rows in zip(self._gathers, prepared.rows, strict=True)]
        return prepared, OnHost(gathered, prepared.arrays)

    def _apply(self, grads: RowGrads) -> None:
        if self.buffers.learned and grads.grads:
            self._updater.apply(self.buffers.learned.rows, grads)
