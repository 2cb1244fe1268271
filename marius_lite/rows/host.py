"""Train resident rows on the host: the CPU gathers the rows of a batch into tensors, and applies its gradients to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from marius_lite._native import gather, segment_sum, sort_rows
from marius_lite.device.clip import clip_rows_
from marius_lite.graph.partitioning import Partitioning
from marius_lite.optim.rows import RowOptimizer
from marius_lite.optim.schedule import Rated
from marius_lite.pipeline.batches import Stages
from marius_lite.rows.batch import Arrays, Foresee, Learn, PreparedBatch, finite
from marius_lite.rows.recycled import RecycledRows
from marius_lite.rows.resident import ResidentRows, RowBuffers
from marius_lite.seeds import seed_for
from marius_lite.storage.bfloat16 import BITS
from marius_lite.types import Batch, Ids, RowGrads, Rows

Floats = npt.NDArray[np.float32]
ROWS_AT_A_TIME = 2048
"""Rows that are summed and then updated at a time. Their sums stay in a processor's caches."""


def ring_of(staleness: int) -> int:
    """Return how many gathered tensors are in use at a time, where so many batches are gathered before an update."""
    return staleness + 2 if staleness else 1


class HostGather:
    """Gathers the first ``columns`` of rows on the CPU. Every other gather gives the same.

    Its tensors are reused: each is valid until ``ring`` calls later; 0: each is a tensor of its own. ``table``: (rows, width)
    float32, or as ``type`` and ``scales`` say (see `graph.feature_types`).
    """

    def __init__(
        self,
        table: npt.NDArray[Any],
        columns: int,
        ring: int = 1,
        threads: int = 1,
        type: str = "float32",
        scales: npt.NDArray[np.float32] | None = None,
    ):
        self._table, self._columns, self._threads, self._type, self._scales = table, columns, threads, type, scales
        self._ring = [torch.empty((0, columns), dtype=torch.float32) for _ in range(ring)]
        self._turn = 0
        self._left_by_others = RecycledRows()

    def __call__(self, rows: Rows) -> Tensor:
        """Return the values of the rows (m,), float32 (m, columns)."""
        gathered = self._room(len(rows))
        self._gather(rows, gathered.numpy())
        return gathered

    def _room(self, rows: int) -> Tensor:
        if not self._ring:
            return self._left_by_others.tensor(rows, self._columns)
        self._turn = (self._turn + 1) % len(self._ring)
        if rows > len(self._ring[self._turn]):
            self._ring[self._turn] = torch.empty((rows, self._columns), dtype=torch.float32)
        return self._ring[self._turn][:rows]

    def _gather(self, rows: Rows, out: npt.NDArray[np.float32]) -> None:
        if self._type == "float32":
            gather(self._table, rows, out, self._threads)
        elif self._scales is not None:
            gather(self._table, rows, out, scales=self._scales, threads=self._threads)
        else:
            gather(self._table.view(np.uint16), rows, out, bfloat16=self._type == "bfloat16", threads=self._threads)


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


class HostRowUpdater:
    """Applies `RowGrads` to a table of records. It keeps its buffers, so only one thread may use it at a time.

    ``rate`` multiplies the learning rate. ``clip``: the largest norm of a row's summed gradient; 0: no limit.
    """

    def __init__(self, optimizer: RowOptimizer, dim: int, lr: float, clip: float = 0.0):
        self._step = optimizer.step
        self.dim = dim
        self.lr = lr
        self.clip = clip
        self.rate = 1.0
        self._rows: Rows = np.empty(0, np.int64)
        self._sums: Floats = np.empty((ROWS_AT_A_TIME, dim), np.float32)

    def apply(self, table: npt.NDArray[Any], grads: RowGrads) -> Rows:
        """Update ``table`` (n, width) in place. Returns the rows that changed, ascending.

        Gradients of equal rows are summed in the order of their positions, so that the bits are the same every time.
        """
        rows: Rows
        rows, order, starts = sort_rows(self._laid_end_to_end(grads))
        parts = [grad.numpy() for grad in grads.grads]
        for first in range(0, len(rows), ROWS_AT_A_TIME):
            some = rows[first : first + ROWS_AT_A_TIME]
            sums = self._sums[: len(some)]
            segment_sum(parts, order, starts[first : first + len(some) + 1], sums)
            if self.clip:
                clip_rows_(torch.from_numpy(sums), self.clip)
            self._step(table, some, sums, self.lr * self.rate, grads.seed)
        return rows

    def _laid_end_to_end(self, grads: RowGrads) -> Rows:
        """Return the rows of all parts in one array, which is reused by the next call."""
        count = sum(len(part) for part in grads.rows)
        if count > len(self._rows):
            self._rows = np.empty(count + count // 4, np.int64)
        out = self._rows[:count]
        np.concatenate(grads.rows, out=out)
        return out


Gathered = tuple[PreparedBatch[Any], OnHost]


class HostRows(ResidentRows):
    """Rows trained on the host. ``updater``: what changes the learned rows, if there are any. ``ring``: see `HostGather`.

    ``seed``: the run's, from which follows how rows of bfloat16 are rounded. ``memory``: for each table the rows that batches
    name, where they are not those of its buffer.
    """

    def __init__(
        self,
        buffers: RowBuffers,
        partitioning: Partitioning,
        updater: HostRowUpdater | None,
        ring: int,
        threads: int,
        seed: int = 0,
        memory: Sequence[npt.NDArray[Any]] = (),
    ):
        super().__init__(buffers, partitioning)
        self._updater, self._seed, self._left = updater, seed, 0
        self._memory = memory or [buffer.rows for buffer in buffers.all]
        self._gathers = []
        if buffers.features and buffers.stored:
            stored = buffers.stored
            self._gathers.append(HostGather(self._memory[0], stored.width, ring, threads, stored.type, stored.scales))
        if buffers.learned:
            kind = "bfloat16" if buffers.learned.table.dtype == BITS else "float32"
            self._gathers.append(HostGather(self._memory[-1], buffers.dim, ring, threads, kind))

    def leave(self, nodes: int) -> None:
        """Leave the learned rows of the first so many nodes as they are from now on."""
        self._left = nodes

    def pipeline(
        self, prepare: Callable[[Any], PreparedBatch[Any]], learn: Learn, foresee: Foresee | None = None
    ) -> Stages[Any, Any, Any, Any]:
        return Stages(prepare, self._gather, lambda gathered: self._learned(learn, *gathered), self._apply)

    def rated(self) -> Sequence[Rated]:
        return [self._updater] if self._updater else []

    def cache_most_touched(self, touched: Callable[[], Ids]) -> None:
        """Do nothing: rows are trained where they lie."""

    def _learned(self, learn: Learn, prepared: PreparedBatch[Any], arrived: OnHost) -> tuple[float, RowGrads]:
        loss, grads = learn(prepared, arrived)
        at = prepared.batch
        return float(loss), RowGrads(prepared.rows[-1:], grads, seed_for(self._seed, "rounding", at.epoch, at.step, at.index))

    def _gather(self, prepared: PreparedBatch[Any]) -> Gathered:
        gathered = [take(rows) for take, rows in zip(self._gathers, prepared.rows, strict=True)]
        return prepared, OnHost(gathered, prepared.arrays)

    def _apply(self, grads: RowGrads) -> None:
        if self.buffers.learned and self._updater and grads.grads:
            self._updater.apply(self._memory[-1], self._changing(grads))

    def _changing(self, grads: RowGrads) -> RowGrads:
        """Return the gradients of the rows that may change."""
        if not self._left:
            return grads
        rows = np.concatenate(grads.rows)
        changing = self._node_of(rows) >= self._left
        ends = np.cumsum([len(grad) for grad in grads.grads])
        parts = [
            grad[torch.from_numpy(changing[end - len(grad) : end])] for grad, end in zip(grads.grads, ends.tolist(), strict=True)
        ]
        return RowGrads([rows[changing]], parts, grads.seed)

    def _node_of(self, rows: Rows) -> Ids:
        """Return the nodes of rows that batches name."""
        return self.node_ids(rows)
