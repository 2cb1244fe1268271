"""Link prediction: edges of a step in windows, node rows that change with every batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from marius_lite.config.memory import LOOK_BACK, RING
from marius_lite.config.schema import Config
from marius_lite.device.batches import Arrived, DeviceBatches
from marius_lite.device.held import HOT_SAMPLE, HotRows, Mirror
from marius_lite.device.host import Gather
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.partitioning import Partitioning
from marius_lite.nn.model import LinkPredictionModel, finite
from marius_lite.nn.precision import products_in
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.ordering.plan import make_plan
from marius_lite.pipeline.batches import Stages, Streamed
from marius_lite.sampling.batch_rows import RowTracker
from marius_lite.sampling.log_q import log_q
from marius_lite.sampling.negatives import Resident, Sampler
from marius_lite.sampling.windows import Window, WindowEdges, WindowReader, batch_slices, shuffled, to_rows, windows_of
from marius_lite.seeds import generator_for
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.types import BatchRows, DeviceBatch, EdgeBatch, EpochPlan, RowGrads, SampledBatch, Step

NOWHERE = Resident((), 0, 1, np.empty(0, np.int64))


class LinkWork:
    """See `train.work.Work`. ``on_device`` trains the buffer's rows on a GPU; without it ``gather`` and ``apply`` do here."""

    def __init__(self, config: Config, partitioning: Partitioning, edges: EdgeBuckets, buffer: PartitionBuffer,
                 reader: WindowReader, window_edges: int, sampler: Sampler, gather: Gather,
                 apply: Callable[[RowGrads], object], on_device: DeviceBatches | None, model: LinkPredictionModel,
                 optimizer: DenseOptimizer, first_rows: Callable[[], dict[int, int]], rank: Callable[[], dict[str, Any]]):
        self.items = edges.total
        self.buffer, self.sampler, self.gather, self.apply, self.on_device = buffer, sampler, gather, apply, on_device
        self._config, self._partitioning, self._edges, self._reader = config, partitioning, edges, reader
        self._window_edges, self._model, self._optimizer = window_edges, model, optimizer
        self._resident = NOWHERE
        self.initialise, self._rank = first_rows, rank

    def plan(self, epoch: int) -> EpochPlan:
        storage, seed = self._config.storage, self._config.training.seed
        return make_plan(storage.ordering, self._partitioning.partitions, int(storage.capacity), seed, epoch)

    def enter(self, step: Step, after: Step | None) -> None:
        following = after.resident if after else ()
        for _, held in self._held():
            held.leave(step.resident)
        self._load(step.resident, [k for k in following if k not in step.resident])
        for buffer, held in self._held():
            held.enter({k: buffer.base_row(k) for k in step.resident})
        bases = {k: self.buffer.base_row(k) for k in step.resident}
        self._resident = Resident(step.resident, sum(self._partitioning.size(k) for k in step.resident),
                                  self._partitioning.rows, np.array([bases[k] for k in step.resident]))

    def windows(self, step: Step) -> list[Window]:
        return windows_of(step, self._edges.counts, self._window_edges, self._config.training.batch_size)

    def open(self, epoch: int, window: Window, following: Window | None) -> LinkWindow:
        edges = self._reader.take(window)
        if following is not None:
            self._reader.prefetch(following)
        to_rows(edges, self._edges.counts, {k: self.buffer.base_row(k) for bucket in window.buckets for k in bucket})
        self._choose_hot(edges)
        if self._config.negatives.log_q:
            self._correct(edges)
        place = (epoch, window.step, window.first_batch)
        order = shuffled(window.edges, generator_for(self._config.training.seed, "shuffle", *place))
        return LinkWindow(self, window, epoch, edges, order, self._config.training.batch_size)

    def stages(self) -> (Stages[EdgeBatch, SampledBatch, DeviceBatch, RowGrads]
                         | Streamed[EdgeBatch, tuple[SampledBatch, BatchRows]]):
        """Stages for one run of the pipeline; what is resident changes by it."""
        self.buffer.mark_dirty(self._resident.partitions)
        sample = partial(self.sampler.sample, resident=self._resident)
        if self.on_device is None:
            return Stages(sample, self.gather, self._learn, self.apply)
        tracker = RowTracker(LOOK_BACK, self.on_device.tables[0].hot)

        def tracked(edges: EdgeBatch) -> tuple[SampledBatch, BatchRows]:
            batch = sample(edges)
            return batch, tracker.track(batch.places)

        return Streamed(tracked, partial(self._begin, self.on_device), RING)

    def flush(self) -> dict[int, int]:
        for _, held in self._held():
            held.settle()
        return self.buffer.flush()

    def evaluate(self) -> dict[str, Any]:
        """Rank among the rows behind the buffer, which may then hold any partitions."""
        for _, held in self._held():
            held.leave(())
        self.buffer.flush()
        return self._rank()

    def counters(self) -> dict[str, float]:
        return self.buffer.counters()

    def close(self) -> None:
        self._reader.close()
        if self.on_device:
            self.on_device.close()
        self.buffer.close()

    def _load(self, resident: Sequence[int], following: Sequence[int]) -> None:
        self.buffer.enter(resident, following)

    @property
    def buffers(self) -> Sequence[PartitionBuffer]:
        """One for each table on the device."""
        return [self.buffer]

    def _held(self) -> list[tuple[PartitionBuffer, Mirror | HotRows]]:
        """What is held on the device of each buffer's rows: all of them something, or none."""
        tables = self.on_device.tables if self.on_device else []
        return [(buffer, table.held) for buffer, table in zip(self.buffers, tables) if table.held]

    def _choose_hot(self, edges: WindowEdges) -> None:
        """Hold on the device the rows that a step's first window touches most."""
        for buffer, held in self._held():
            if isinstance(held, HotRows) and not len(held.hot):
                held.choose(self._touched(buffer, edges))

    def _correct(self, edges: WindowEdges) -> None:
        """What the window's draws take from scores."""
        rows, fraction = self.buffer.slots * self.buffer.slot_rows, self._config.negatives.degree_fraction
        each = [log_q(ends, rows, self._resident.nodes, fraction) for ends in (edges.dst, edges.src)]
        self._resident = replace(self._resident, log_q=np.stack(each))

    def _touched(self, buffer: PartitionBuffer, edges: WindowEdges) -> np.ndarray:
        """Some of the rows of a buffer that a window's batches touch, each as often as they do, roughly."""
        every = max(1, len(edges.src) // HOT_SAMPLE)
        return np.concatenate([edges.src[::every], edges.dst[::every]])

    def _learn(self, batch: DeviceBatch) -> tuple[float, RowGrads]:
        with products_in(self._config.training.precision):
            loss, grads = self._model.learn(batch)
        self._optimizer.step()
        return loss, grads

    def _begin(self, device: DeviceBatches, pair: tuple[SampledBatch, BatchRows]) -> Callable[[], float]:
        sampled, rows = pair
        end = device.begin([rows], {"rel": sampled.edges.rel}, partial(self._learn_on_device, sampled))
        return lambda: finite(end(), sampled.edges)

    def _learn_on_device(self, sampled: SampledBatch, arrived: Arrived) -> tuple[torch.Tensor, Sequence[torch.Tensor]]:
        with products_in(self._config.training.precision):
            loss, grads = self._model.gradients(DeviceBatch.of(sampled, arrived.values[0], arrived.tensor("rel")))
        self._optimizer.step()
        return loss, grads


@dataclass(frozen=True)
class LinkWindow:
    """Edges of a window as rows of the buffer, and the order in which they are trained."""

    work: LinkWork
    window: Window
    epoch: int
    edges: WindowEdges
    order: np.ndarray
    batch_size: int

    def batches(self, start: int) -> Iterator[EdgeBatch]:
        for index, part in batch_slices(self.window, self.batch_size, start):
            picks = self.order[part]
            src, dst, rel = (column[picks].astype(np.int64) for column in (self.edges.src, self.edges.dst, self.edges.rel))
            yield EdgeBatch(self.epoch, self.window.step, index, src, dst, rel)

    def stages(self) -> (Stages[EdgeBatch, SampledBatch, DeviceBatch, RowGrads]
                         | Streamed[EdgeBatch, tuple[SampledBatch, BatchRows]]):
        return self.work.stages()
