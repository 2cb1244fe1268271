"""Training nodes of a step in batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.sampling.windows import Window, batch_slices
from marius_lite.seeds import generator_for
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


def node_window(step: int, nodes: int, batch_size: int) -> Window:
    """All of a step's training nodes."""
    return Window(step, (), nodes, 0, -(-nodes // batch_size))


def node_batches(epoch: int, window: Window, ids: Ids, batch_size: int, run_seed: int, start: int) -> Iterator[NodeBatch]:
    """The window's batches from index ``start`` on, its nodes shuffled."""
    order = generator_for(run_seed, "shuffle", epoch, window.step, window.first_batch).permutation(len(ids))
    for index, part in batch_slices(window, batch_size, start):
        yield NodeBatch(epoch, window.step, index, ids[order[part]])
