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
from marius_lite.graph.fanouts import Fanout
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


@dataclass(frozen=True)
class NodeRows:
    """Rows of sampled nodes (n, width) side by side from the buffers that hold them; ``learned`` is the part that changes."""

    stored: Features | None
    features: PartitionBuffer | None
    learned: PartitionBuffer | None
    dim: int
    apply: Callable[[RowGrads], object]
    partitioning: Partitioning

    @property
    def buffers(self) -> list[PartitionBuffer]:
        return [buffer for buffer in (self.features, self.learned) if buffer]

    def bases(self, buffer: PartitionBuffer, resident: Sequence[int]) -> Ids:
        """The first row of each resident partition, -1 of the others."""
        found = np.full(self.partitioning.partitions, -1, np.int64)
        found[list(resident)] = [buffer.base_row(k) for k in resident]
        return found


@dataclass(frozen=True, slots=True)
class GatheredNodes:
    """``x`` (n, width) float32, the graph as tensors, labels (seeds,); ``learned``: rows of the learned table, (n,)."""

    sampled: SampledNodes
    x: torch.Tensor
    graph: LayerGraph
    labels: torch.Tensor
    learned: Ids | None


class NodeWork:
    """See `train.work.Work`."""

    measure = MEASURES["node_classification"]

    def __init__(self, config: Config, partitioning: Partitioning, training: TrainingNodes, training_partitions: int,
                 rows: NodeRows, lists: NeighbourLists, fanouts: Sequence[Fanout], model: NodeClassifier,
                 optimizer: DenseOptimizer, device: torch.device, first_rows: Callable[[], dict[int, int]],
                 score: Callable[[], dict[str, Any]]):
        self.items = len(training.ids)
        self._config, self._partitioning, self._training, self._rows = config, partitioning, training, rows
        self._training_partitions, self._lists, self._model, self._optimizer = training_partitions, lists, model, optimizer
        self._fanouts = fanouts
        self._device, self.initialise, self._score = device, first_rows, score
        self._learned_base: Ids | None = None
        self._resident: tuple[int, ...] = ()
        self._missing = np.zeros(2, np.int64)

    def plan(self, epoch: int) -> EpochPlan:
        return make_node_plan(self._partitioning.partitions, int(self._config.storage.capacity), self._training_partitions,
                              self._config.training.seed, epoch)

    def enter(self, step: Step, after: Step | None) -> None:
        following = [k for k in after.resident if k not in step.resident] if after else []
        for buffer in self._rows.buffers:
            buffer.enter(step.resident, following)
        first = self._rows.buffers[0]
        self._lists.enter({k: first.base_row(k) for k in step.resident})
        self._lists.prefetch(following)
        if self._rows.learned:
            self._learned_base = self._rows.bases(self._rows.learned, step.resident)
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
        return self._lists.sample(seeds, self._fanouts, seed, int(self._config.training.threads))

    def expect(self, checksums: dict[int, int]) -> None:
        if self._rows.learned:
            self._rows.learned.expect(checksums)

    def flush(self) -> dict[int, int]:
        return self._rows.learned.flush() if self._rows.learned else {}

    def evaluate(self) -> dict[str, Any]:
        self.flush()
        return self._score()

    def counters(self) -> dict[str, float]:
        counted = [buffer.counters() for buffer in self._rows.buffers]
        return {**{key: sum(each[key] for each in counted) for key in counted[0]},
                "neighbours": int(self._missing[0]), "neighbours_not_resident": int(self._missing[1]),
                "edges_moved": self._lists.edges_moved}

    def close(self) -> None:
        self._lists.close()
        for buffer in self._rows.buffers:
            buffer.close()

    def _gather(self, sampled: SampledNodes) -> GatheredNodes:
        parts, learned, around = [], None, sampled.around
        threads = int(self._config.training.threads)
        if self._rows.features and self._rows.stored:
            stored = self._rows.stored
            parts.append(take(self._rows.features.rows, around.rows, stored.width, stored, threads))
        if self._rows.learned and self._learned_base is not None:
            partition, offset = np.divmod(around.nodes, self._partitioning.rows)
            learned = self._learned_base[partition] + offset
            parts.append(take(self._rows.learned.rows, learned, self._rows.dim, threads=threads))
        self._missing += around.neighbours, around.missing
        x = torch.from_numpy(parts[0] if len(parts) == 1 else np.concatenate(parts, 1)).to(self._device)
        labels = torch.from_numpy(sampled.labels).to(self._device)
        return GatheredNodes(sampled, x, layer_graph(around, self._lists, self._device), labels, learned)

    def _learn(self, batch: GatheredNodes) -> tuple[float, RowGrads | None]:
        with products_in(self._config.training.precision):
            loss, d_x = self._model.learn(batch.x, batch.graph, batch.labels, batch.sampled.seed, batch.learned is not None)
        mean = finite(float(loss), batch.sampled.batch)
        self._optimizer.step()
        if batch.learned is None or d_x is None:
            return mean, None
        return mean, RowGrads((batch.learned,), (d_x[:, d_x.shape[1] - self._rows.dim:].cpu().contiguous(),))

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
