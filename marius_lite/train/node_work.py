"""Classification of nodes: features (and learned rows) of the resident partitions, neighbourhoods sampled among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from marius_lite._native import gather
from marius_lite.config.schema import MEASURES, Config
from marius_lite.graph.features import Features
from marius_lite.graph.partitioning import Partitioning
from marius_lite.nn.classifier import NodeClassifier
from marius_lite.nn.encoders import LayerGraph
from marius_lite.nn.model import finite
from marius_lite.nn.precision import products_in
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.ordering.plan import make_node_plan
from marius_lite.pipeline.batches import Stages
from marius_lite.sampling.neighbours import NeighbourLists, NeighbourSample
from marius_lite.sampling.node_batches import Ids, SampledNodes, TrainingNodes, node_batches, node_window, sample_nodes
from marius_lite.sampling.windows import Window
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.train.layer_graph import layer_graph
from marius_lite.types import EpochPlan, NodeBatch, RowGrads, Step

Values = npt.NDArray[np.float32]


class NodeRows:
    """What nodes begin with, side by side from the buffers that hold it: ``features``, stored as ``stored`` says, and the first
    ``dim`` numbers of ``learned`` rows, which ``apply`` changes. The rows of a sample are rows of the first of ``buffers``."""

    def __init__(self, stored: Features | None, features: PartitionBuffer | None, learned: PartitionBuffer | None, dim: int,
                 apply: Callable[[RowGrads], object], partitioning: Partitioning):
        self.learned, self.dim, self.apply = learned, dim, apply
        self.buffers = [buffer for buffer in (learned, features) if buffer]
        self._stored, self._features, self._partitioning = stored, features, partitioning
        self._feature_base = np.full(partitioning.partitions, -1, np.int64)

    def enter(self, resident: Sequence[int], following: Sequence[int]) -> None:
        """Make partitions resident, and begin to load the ``following`` ones."""
        for buffer in self.buffers:
            buffer.enter(resident, following)
        if self._features:
            self._feature_base[list(resident)] = [self._features.base_row(k) for k in resident]

    def gather(self, around: NeighbourSample, threads: int) -> Values:
        """Of each sampled node: float32 (n, width)."""
        parts = []
        if self._features:
            rows = around.rows
            if self.learned:
                partition, offset = np.divmod(around.nodes, self._partitioning.rows)
                rows = self._feature_base[partition] + offset
            assert self._stored is not None
            parts.append(take(self._features.rows, rows, self._stored.width, self._stored, threads))
        if self.learned:
            parts.append(take(self.learned.rows, around.rows, self.dim, threads=threads))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, 1)

    def gradients(self, around: NeighbourSample, d_x: torch.Tensor | None) -> RowGrads | None:
        """Those of the learned rows, from that of what `gather` gave."""
        if not self.learned or d_x is None:
            return None
        return RowGrads((around.rows,), (d_x[:, d_x.shape[1] - self.dim:].cpu().contiguous(),))

    def counters(self) -> dict[str, float]:
        counted = [buffer.counters() for buffer in self.buffers]
        return {key: sum(each[key] for each in counted) for key in counted[0]}


@dataclass(frozen=True, slots=True)
class GatheredNodes:
    """``x`` (n, width) float32, the graph as tensors, labels (seeds,)."""

    sampled: SampledNodes
    x: torch.Tensor
    graph: LayerGraph
    labels: torch.Tensor


class NodeWork:
    """See `train.work.Work`."""

    measure = MEASURES["node_classification"]

    def __init__(self, config: Config, partitioning: Partitioning, training: TrainingNodes, training_partitions: int,
                 rows: NodeRows, lists: NeighbourLists, model: NodeClassifier, optimizer: DenseOptimizer, device: torch.device,
                 first_rows: Callable[[], dict[int, int]], score: Callable[[], dict[str, Any]]):
        self.items = len(training.ids)
        self._config, self._partitioning, self._training, self._rows = config, partitioning, training, rows
        self._training_partitions, self._lists, self._model, self._optimizer = training_partitions, lists, model, optimizer
        self._device, self.initialise, self._score = device, first_rows, score
        self._resident: tuple[int, ...] = ()
        self._missing = np.zeros(2, np.int64)

    def plan(self, epoch: int) -> EpochPlan:
        return make_node_plan(self._partitioning.partitions, int(self._config.storage.capacity), self._training_partitions,
                              self._config.training.seed, epoch)

    def enter(self, step: Step, after: Step | None) -> None:
        following = [k for k in after.resident if k not in step.resident] if after else []
        self._rows.enter(step.resident, following)
        first = self._rows.buffers[0]
        self._lists.enter({k: first.base_row(k) for k in step.resident})
        self._lists.prefetch(following)
        self._resident = step.resident

    def windows(self, step: Step) -> list[Window]:
        return [node_window(step.index, len(self._training.of(step.targets)[0]), self._config.training.batch_size)]

    def open(self, epoch: int, window: Window, following: Window | None) -> NodeWindow:
        targets = self.plan(epoch).steps[window.step].targets
        training = self._config.training
        return NodeWindow(self, window, epoch, *self._training.of(targets), training.batch_size, training.seed)

    def stages(self, ids: Ids, labels: Ids) -> Stages[NodeBatch, SampledNodes, GatheredNodes, RowGrads | None]:
        if self._rows.learned:
            self._rows.learned.mark_dirty(self._resident)
        return Stages(lambda batch: sample_nodes(batch, ids, labels, self._draw, self._config.training.seed), self._gather,
                      self._learn, self._apply)

    def _draw(self, seeds: Ids, seed: int) -> NeighbourSample:
        fanouts = self._config.sampling.fanouts
        assert not isinstance(fanouts, str)
        return self._lists.sample(seeds, fanouts, seed, int(self._config.training.threads))

    def expect(self, checksums: dict[int, int]) -> None:
        if self._rows.learned:
            self._rows.learned.expect(checksums)

    def flush(self) -> dict[int, int]:
        return self._rows.learned.flush() if self._rows.learned else {}

    def evaluate(self) -> dict[str, Any]:
        self.flush()
        return self._score()

    def counters(self) -> dict[str, float]:
        return {**self._rows.counters(), "neighbours": int(self._missing[0]),
                "neighbours_not_resident": int(self._missing[1])}

    def close(self) -> None:
        self._lists.close()
        for buffer in self._rows.buffers:
            buffer.close()

    def _gather(self, sampled: SampledNodes) -> GatheredNodes:
        around = sampled.around
        self._missing += around.neighbours, around.missing
        x = torch.from_numpy(self._rows.gather(around, int(self._config.training.threads))).to(self._device)
        labels = torch.from_numpy(sampled.labels).to(self._device)
        return GatheredNodes(sampled, x, layer_graph(around, self._lists, self._device), labels)

    def _learn(self, batch: GatheredNodes) -> tuple[float, RowGrads | None]:
        with products_in(self._config.training.precision):
            learned = self._rows.learned is not None
            loss, d_x = self._model.learn(batch.x, batch.graph, batch.labels, batch.sampled.seed, learned)
        mean = finite(float(loss), batch.sampled.batch)
        self._optimizer.step()
        return mean, self._rows.gradients(batch.sampled.around, d_x)

    def _apply(self, grads: RowGrads | None) -> None:
        if grads is not None:
            self._rows.apply(grads)


def take(table: npt.NDArray[Any], rows: Ids, width: int, features: Features | None = None, threads: int = 0) -> Values:
    """The first ``width`` columns of some rows as float32 (n, width); stored as ``features`` says, or float32."""
    out = np.empty((len(rows), width), np.float32)
    if features is None or features.type == "float32":
        gather(table, rows, out, threads)
    elif features.type == "int8":
        gather(table, rows, out, scales=features.scales, threads=threads)
    else:
        gather(table.view(np.uint16), rows, out, bfloat16=features.type == "bfloat16", threads=threads)
    return out


@dataclass(frozen=True)
class NodeWindow:
    """The training nodes of a step."""

    work: NodeWork
    window: Window
    epoch: int
    ids: Ids
    labels: Ids
    batch_size: int
    seed: int

    def batches(self, start: int) -> Iterator[NodeBatch]:
        return node_batches(self.epoch, self.window, self.ids, self.batch_size, self.seed, start)

    def stages(self) -> Stages[NodeBatch, SampledNodes, GatheredNodes, RowGrads | None]:
        return self.work.stages(self.ids, self.labels)
