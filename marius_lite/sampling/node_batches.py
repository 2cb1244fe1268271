"""Training nodes of a step in batches, each with its sampled neighbourhood."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.sampling.neighbours import NeighbourSample
from marius_lite.sampling.windows import Window, batch_slices
from marius_lite.seeds import generator_for, seed_for
from marius_lite.types import NodeBatch

Ids = npt.NDArray[np.int64]
Labels = npt.NDArray[Any]
"""(n,) int64 class numbers, or (n, classes) int8, 1 for each class that a node has."""


@dataclass(frozen=True)
class TrainingNodes:
    """``ids`` ascending, ``labels`` beside them: all training nodes, of the first partitions."""

    ids: Ids
    labels: Labels
    partition_rows: int

    def of(self, partitions: tuple[int, ...]) -> Ids:
        """The ids of those in some partitions."""
        parts = [slice(*np.searchsorted(self.ids, [k * self.partition_rows, (k + 1) * self.partition_rows])) for k in partitions]
        return np.concatenate([self.ids[part] for part in parts])

    def labels_of(self, nodes: Ids) -> Labels:
        """The labels of some of them."""
        found: Labels = self.labels[np.searchsorted(self.ids, nodes)]
        return found


@dataclass(frozen=True, slots=True)
class SampledNodes:
    """A NodeBatch with its neighbourhood and its nodes' labels. ``seed`` feeds whatever it still draws (dropout)."""

    batch: NodeBatch
    around: NeighbourSample
    labels: Labels
    seed: int


def node_window(step: int, nodes: int, batch_size: int) -> Window:
    """All of a step's training nodes."""
    return Window(step, (), nodes, 0, -(-nodes // batch_size))


def node_batches(epoch: int, window: Window, ids: Ids, batch_size: int, run_seed: int, start: int) -> Iterator[NodeBatch]:
    """The window's batches from index ``start`` on, its nodes shuffled."""
    order = generator_for(run_seed, "shuffle", epoch, window.step, window.first_batch).permutation(len(ids))
    for index, part in batch_slices(window, batch_size, start):
        yield NodeBatch(epoch, window.step, index, ids[order[part]])


def sample_nodes(batch: NodeBatch, training: TrainingNodes, draw: Callable[[Ids, int], NeighbourSample],
                 run_seed: int) -> SampledNodes:
    """A batch with its neighbourhood, which ``draw`` samples for seeds and a seed of randomness."""
    place = (batch.epoch, batch.step, batch.index)
    found = draw(batch.nodes, seed_for(run_seed, "neighbours", *place))
    return SampledNodes(batch, found, training.labels_of(batch.nodes), seed_for(run_seed, "dropout", *place))
