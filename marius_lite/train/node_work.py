"""Classification of nodes: features (and learned rows) of the resident partitions, neighbourhoods sampled among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from marius_lite._native import gather
from marius_lite.config.memory import LOOK_BACK, RING
from marius_lite.config.schema import Config
from marius_lite.device.batches import Arrays, Arrived, DeviceBatches
from marius_lite.device.held import HOT_SAMPLE, HotRows, Mirror
from marius_lite.graph.features import Features
from marius_lite.graph.partitioning import Partitioning
from marius_lite.nn.classifier import NodeClassifier
from marius_lite.nn.encoders import LayerGraph
from marius_lite.nn.model import finite
from marius_lite.nn.precision import products_in
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.optim.rows import RowUpdater
from marius_lite.ordering.plan import make_node_plan
from marius_lite.pipeline.batches import Stages, Streamed
from marius_lite.sampling.batch_rows import RowTracker, read_rows
from marius_lite.sampling.neighbours import NeighbourSample
from marius_lite.sampling.node_batches import Ids, SampledNodes, TrainingNodes, node_batches, node_window, sample_nodes
from marius_lite.sampling.windows import Window
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import RowTable
from marius_lite.train.layer_graph import arrived_graph, graph_arrays, layer_graph
from marius_lite.train.neighbourhoods import Neighbourhoods
from marius_lite.types import BatchRows, EpochPlan, NodeBatch, RowGrads, Step

Values = npt.NDArray[np.float32]


class NodeRows:
    """What nodes begin with, side by side from ``buffers``: ``features``, stored as ``stored`` says, then the first ``dim``
    numbers of ``learned`` rows, which ``updater`` changes. The rows of a sample are rows of the buffer ``first``."""

    def __init__(self, stored: Features | None, features: PartitionBuffer | None, learned: PartitionBuffer | None, dim: int,
                 updater: RowUpdater, partitioning: Partitioning):
        self.stored, self.features, self.learned, self.dim, self.updater = stored, features, learned, dim, updater
        self.buffers = [buffer for buffer in (features, learned) if buffer]
        self.first = self.buffers[-1]
        self._partitioning = partitioning
        self._bases: dict[int, Ids] = {}

    def apply(self, grads: RowGrads) -> None:
        """Change the learned rows, where there are any."""
        if self.learned:
            self.updater.apply(self.learned.rows, grads)

    def enter(self, resident: Sequence[int], following: Sequence[int]) -> None:
        """Make partitions resident, and begin to load the ``following`` ones."""
        for place, buffer in enumerate(self.buffers):
            buffer.enter(resident, following)
            self._bases[place] = np.full(self._partitioning.partitions, -1, np.int64)
            self._bases[place][list(resident)] = [buffer.base_row(k) for k in resident]

    def rows_of(self, buffer: PartitionBuffer, nodes: Ids) -> Ids:
        """Rows in a buffer of resident nodes, by their ids."""
        partition, offset = np.divmod(nodes, self._partitioning.rows)
        rows: Ids = self._bases[self.buffers.index(buffer)][partition] + offset
        return rows

    def sampled_rows(self, buffer: PartitionBuffer, around: NeighbourSample) -> Ids:
        """Rows in a buffer of a sample's nodes."""
        return around.rows if buffer is self.first else self.rows_of(buffer, around.nodes)

    def gather(self, around: NeighbourSample, threads: int) -> Values:
        """Of each sampled node: float32 (n, width)."""
        parts = []
        if self.features and self.stored:
            rows = self.sampled_rows(self.features, around)
            parts.append(take(self.features.rows, rows, self.stored.width, self.stored, threads))
        if self.learned:
            parts.append(take(self.learned.rows, around.rows, self.dim, threads=threads))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, 1)

    def gradient(self, d_x: torch.Tensor | None) -> list[torch.Tensor]:
        """That (n, dim) of the learned rows, where there are any, from that of what `gather` gave."""
        return [] if self.learned is None or d_x is None else [d_x[:, d_x.shape[1] - self.dim:].contiguous()]

    def counters(self) -> dict[str, float]:
        counted = [buffer.counters() for buffer in self.buffers]
        return {key: sum(each[key] for each in counted) for key in counted[0]}


@dataclass(frozen=True, slots=True)
class GatheredNodes:
    """``x`` (n, width) float32, the graph as tensors, labels (seeds,) or (seeds, classes)."""

    sampled: SampledNodes
    x: torch.Tensor
    graph: LayerGraph
    labels: torch.Tensor


PreparedNodes = tuple[SampledNodes, list[BatchRows], Arrays]
"""A batch for the device: the rows of each table, and what else goes up."""


class NodeWork:
    """See `train.work.Work`. ``on_device`` trains on a GPU, with a table for each of the rows' buffers."""

    def __init__(self, config: Config, partitioning: Partitioning, training: TrainingNodes, training_partitions: int,
                 rows: NodeRows, around: Neighbourhoods, model: NodeClassifier, optimizer: DenseOptimizer,
                 on_device: DeviceBatches | None, first_rows: Callable[[], dict[int, int]],
                 score: Callable[[RowTable | None], dict[str, Any]]):
        self.items = len(training.ids)
        self._config, self._partitioning, self._training, self._rows = config, partitioning, training, rows
        self._training_partitions, self._around, self._model, self._optimizer = training_partitions, around, model, optimizer
        self._on_device, self.initialise, self._score = on_device, first_rows, score
        self._resident: tuple[int, ...] = ()

    def plan(self, epoch: int) -> EpochPlan:
        return make_node_plan(self._partitioning.partitions, int(self._config.storage.capacity), self._training_partitions,
                              self._config.training.seed, epoch)

    def enter(self, step: Step, after: Step | None) -> None:
        following = [k for k in after.resident if k not in step.resident] if after else []
        for held in self._held():
            held.leave(step.resident)
        self._rows.enter(step.resident, following)
        self._around.enter({k: self._rows.first.base_row(k) for k in step.resident}, following)
        self._resident = step.resident
        for buffer, held in zip(self._rows.buffers, self._held()):
            held.enter({k: buffer.base_row(k) for k in step.resident})
            self._choose_hot(buffer, held)

    def windows(self, step: Step) -> list[Window]:
        return [node_window(step.index, len(self._training.of(step.targets)), self._config.training.batch_size)]

    def open(self, epoch: int, window: Window, following: Window | None) -> NodeWindow:
        targets = self.plan(epoch).steps[window.step].targets
        training = self._config.training
        return NodeWindow(self, window, epoch, self._training.of(targets), training.batch_size, training.seed)

    def stages(self) -> (Stages[NodeBatch, SampledNodes, GatheredNodes, RowGrads | None]
                         | Streamed[NodeBatch, PreparedNodes]):
        if self._rows.learned:
            self._rows.learned.mark_dirty(self._resident)

        def sample(batch: NodeBatch) -> SampledNodes:
            return sample_nodes(batch, self._training, self._around.sample, self._config.training.seed)

        if self._on_device is None:
            return Stages(sample, self._gather, self._learn, self._apply)
        return Streamed(partial(self._prepare, sample, row_trackers(self._on_device)), partial(self._begin, self._on_device),
                        RING)

    def flush(self) -> dict[int, int]:
        for held in self._held():
            held.settle()
        return self._rows.learned.flush() if self._rows.learned else {}

    def evaluate(self) -> dict[str, Any]:
        checksums, learned = self.flush(), self._rows.learned
        return self._score(learned.table.expecting(checksums) if learned else None)

    def counters(self) -> dict[str, float]:
        return {**self._rows.counters(), **self._around.counters()}

    def close(self) -> None:
        self._around.close()
        if self._on_device:
            self._on_device.close()
        for buffer in self._rows.buffers:
            buffer.close()

    def _gather(self, sampled: SampledNodes) -> GatheredNodes:
        around = sampled.around
        self._around.count(around)
        x = torch.from_numpy(self._rows.gather(around, int(self._config.training.threads)))
        return GatheredNodes(sampled, x, layer_graph(around, self._around.lists), torch.from_numpy(sampled.labels))

    def _learn(self, batch: GatheredNodes) -> tuple[float, RowGrads | None]:
        loss, d_x = self._gradients(batch.sampled, batch.x, batch.graph, batch.labels)
        mean = finite(float(loss), batch.sampled.batch)
        self._optimizer.step()
        return mean, RowGrads((batch.sampled.around.rows,), d_x) if d_x else None

    def _gradients(self, sampled: SampledNodes, x: torch.Tensor, graph: LayerGraph,
                   labels: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """The loss, and the gradient (n, dim) of the learned rows, where there are any."""
        with products_in(self._config.training.precision):
            loss, d_x = self._model.learn(x, graph, labels, sampled.seed, self._rows.learned is not None)
        return loss, self._rows.gradient(d_x)

    def _prepare(self, sample: Callable[[NodeBatch], SampledNodes], trackers: list[Callable[[Ids], BatchRows]],
                 batch: NodeBatch) -> PreparedNodes:
        sampled = sample(batch)
        around = sampled.around
        rows = [track(self._rows.sampled_rows(buffer, around))
                for track, buffer in zip(trackers, self._rows.buffers, strict=True)]
        return sampled, rows, {**graph_arrays(around, self._around.lists), "labels": sampled.labels}

    def _begin(self, device: DeviceBatches, prepared: PreparedNodes) -> Callable[[], float]:
        sampled, rows, arrays = prepared
        self._around.count(sampled.around)
        end = device.begin(rows, arrays, partial(self._learn_on_device, sampled))
        return lambda: finite(end(), sampled.batch)

    def _learn_on_device(self, sampled: SampledNodes, arrived: Arrived) -> tuple[torch.Tensor, list[torch.Tensor]]:
        result = self._gradients(sampled, arrived.beside(), arrived_graph(sampled.around, arrived), arrived.tensor("labels"))
        self._optimizer.step()
        return result

    def _held(self) -> list[Mirror | HotRows]:
        """What each buffer's table holds on the device: all of them something, or none."""
        return [table.held for table in self._on_device.tables if table.held] if self._on_device else []

    def _choose_hot(self, buffer: PartitionBuffer, held: Mirror | HotRows) -> None:
        """Hold on the device the rows of a step that most edges lead from."""
        if isinstance(held, HotRows) and not len(held.hot):
            held.choose(self._rows.rows_of(buffer, self._around.lists.some_sources(HOT_SAMPLE)))

    def _apply(self, grads: RowGrads | None) -> None:
        if grads is not None:
            self._rows.apply(grads)


def row_trackers(device: DeviceBatches) -> list[Callable[[Ids], BatchRows]]:
    """Of each table, what names the rows that a batch takes."""
    return [RowTracker(LOOK_BACK, table.hot).track if table.update else partial(read_rows, hot=table.hot)
            for table in device.tables]


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
    batch_size: int
    seed: int

    def batches(self, start: int) -> Iterator[NodeBatch]:
        return node_batches(self.epoch, self.window, self.ids, self.batch_size, self.seed, start)

    def stages(self) -> (Stages[NodeBatch, SampledNodes, GatheredNodes, RowGrads | None]
                         | Streamed[NodeBatch, PreparedNodes]):
        return self.work.stages()
