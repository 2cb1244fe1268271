"""The parts of a run, as `train.build` puts them together and the trainer uses them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.schema import Config
from marius_lite.device.chooser import Gather
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.partitioning import Partitioning
from marius_lite.metrics import MetricsLog
from marius_lite.nn.model import LinkPredictionModel
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.pipeline.batches import Stages
from marius_lite.sampling.negatives import NegativeSampler, Resident
from marius_lite.sampling.windows import WindowReader
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import RowTable
from marius_lite.types import DeviceBatch, RowGrads


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
    model: LinkPredictionModel
    optimizer: DenseOptimizer
    apply: Callable[[RowGrads], object]
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

    def stages(self, resident: Resident) -> Stages:
        """The pipeline's stages while ``resident`` is what negatives are drawn from."""
        return Stages(lambda edges: self.sampler.sample(edges, resident), self.gather, self._learn, self.apply)

    def _learn(self, batch: DeviceBatch) -> tuple[float, RowGrads]:
        loss, grads = self.model.learn(batch)
        self.optimizer.step()
        return loss, grads

    def dense_state(self) -> dict[str, torch.Tensor]:
        """Every dense tensor of the run, weights and optimizer state, by name."""
        weights = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        return {**weights, **{f"optimizer.{name}": tensor for name, tensor in self.optimizer.state_tensors().items()}}

    def close(self) -> None:
        self.reader.close()
        self.buffer.close()
        self.metrics.close()
