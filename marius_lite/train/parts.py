"""The parts of a run, as `train.build` puts them together and the trainer uses them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.config.memory import LOOK_BACK, RING, MemoryPlan
from marius_lite.config.schema import Config
from marius_lite.device.held import HotRows
from marius_lite.device.host import Gather
from marius_lite.device.rows import DeviceRows
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.partitioning import Partitioning
from marius_lite.metrics import MetricsLog
from marius_lite.nn.model import LinkPredictionModel, finite
from marius_lite.nn.precision import products_in
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.pipeline.batches import Stages, Streamed
from marius_lite.sampling.batch_rows import RowTracker
from marius_lite.sampling.negatives import NegativeSampler, Resident
from marius_lite.sampling.windows import WindowEdges, WindowReader
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import RowTable
from marius_lite.types import BatchRows, DeviceBatch, EdgeBatch, RowGrads, SampledBatch

HOT_SAMPLE = 1 << 20
"""Edges counted, at most, to find the rows that a step touches most."""


@dataclass(frozen=True)
class Parts:
    run: RunFolder
    config: Config
    memory: MemoryPlan
    dataset: Dataset
    edges: EdgeBuckets
    table: RowTable
    buffer: PartitionBuffer
    reader: WindowReader
    sampler: NegativeSampler
    gather: Gather
    apply: Callable[[RowGrads], object]
    on_device: DeviceRows | None
    model: LinkPredictionModel
    optimizer: DenseOptimizer
    evaluate: Callable[[], dict[str, Any]]
    metrics: MetricsLog
    show_progress: bool

    @property
    def partitioning(self) -> Partitioning:
        return self.dataset.partitioning

    @property
    def capacity(self) -> int:
        assert isinstance(self.config.storage.capacity, int)
        return self.config.storage.capacity

    def stages(self, resident: Resident) -> Stages | Streamed[tuple[SampledBatch, BatchRows]]:
        """Stages for one run of the pipeline, while ``resident`` is what negatives are drawn from."""
        sample = partial(self.sampler.sample, resident=resident)
        if self.on_device is None:
            return Stages(sample, self.gather, self._learn, self.apply)
        tracker = RowTracker(LOOK_BACK, self.on_device.hot)

        def tracked(edges: EdgeBatch) -> tuple[SampledBatch, BatchRows]:
            batch = sample(edges)
            return batch, tracker.track(batch)

        return Streamed(tracked, lambda pair: pair[0].edges, partial(self._begin, self.on_device), RING)

    def _learn(self, batch: DeviceBatch) -> tuple[float, RowGrads]:
        with products_in(self.config.training.precision):
            loss, grads = self.model.learn(batch)
        self.optimizer.step()
        return loss, grads

    def _begin(self, device: DeviceRows, pair: tuple[SampledBatch, BatchRows]) -> Callable[[], float]:
        sampled, rows = pair
        end = device.begin(sampled, rows, self._learn_on_device)
        return lambda: finite(end(), sampled.edges)

    def _learn_on_device(self, batch: DeviceBatch) -> tuple[torch.Tensor, Sequence[torch.Tensor]]:
        with products_in(self.config.training.precision):
            loss, grads = self.model.gradients(batch)
        self.optimizer.step()
        return loss, grads

    def leave(self, staying: Collection[int] = ()) -> None:
        """Bring back to the buffer what a device holds of partitions that are about to leave it."""
        if self.on_device and self.on_device.held:
            self.on_device.held.leave(staying)

    def settle(self) -> None:
        """Bring the buffer up to date with what a device holds."""
        if self.on_device and self.on_device.held:
            self.on_device.held.settle()

    def arrive(self, partitions: Sequence[int]) -> None:
        """Tell a device that these partitions are resident."""
        if self.on_device and self.on_device.held:
            self.on_device.held.enter({k: self.buffer.base_row(k) for k in partitions})

    def choose_hot(self, edges: WindowEdges) -> None:
        """Hold on the device the rows that a step's first window touches most."""
        held = self.on_device and self.on_device.held
        if isinstance(held, HotRows) and not len(held.hot):
            every = max(1, len(edges.src) // HOT_SAMPLE)
            held.choose(np.concatenate([edges.src[::every], edges.dst[::every]]))

    def dense_state(self) -> dict[str, torch.Tensor]:
        """Every dense tensor of the run, weights and optimizer state, by name."""
        weights = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        return {**weights, **{f"optimizer.{name}": tensor for name, tensor in self.optimizer.state_tensors().items()}}

    def close(self) -> None:
        self.reader.close()
        if self.on_device:
            self.on_device.close()
        self.buffer.close()
