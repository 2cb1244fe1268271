"""Cut the training nodes of a step into batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.sampling.windows import Cut, Window, batch_slices
from marius_lite.seeds import order_for
from marius_lite.types import Ids, NodeBatch

Labels = npt.NDArray[Any]
"""Class numbers, int64 (n,); or, where nodes have several classes, int8 (n, classes) with 1 for each class of a node."""


Take = Callable[[], slice | None]
"""Gives the next stretch of an epoch's nodes that is for who asks; None where there is none."""


@dataclass(frozen=True)
class TrainingNodes:
    """All training nodes: their ``ids``, ascending, and their ``labels``. They lie in the first partitions, or in all."""

    ids: Ids
    labels: Labels
    partition_rows: int

    def of(self, partitions: tuple[int, ...]) -> Ids:
        """The ids of the training nodes in some partitions: a part of ``ids`` where these follow one another."""
        parts = [slice(*np.searchsorted(self.ids, [k * self.partition_rows, (k + 1) * self.partition_rows])) for k in partitions]
        if all(part.stop == following.start for part, following in pairwise(parts)):
            return self.ids[parts[0].start : parts[-1].stop]
        return np.concatenate([self.ids[part] for part in parts])

    def labels_of(self, nodes: Ids) -> Labels:
        """The labels of some training nodes."""
        found: Labels = self.labels[np.searchsorted(self.ids, nodes)]
        return found


def node_window(step: int, nodes: int, batch_size: int) -> Window:
    """The window of all training nodes of a step."""
    return Window(step, (), nodes, 0, Cut(batch_size, even=False))


def drawn_in(epoch: int, refresh: int) -> int:
    """Return the epoch in which an epoch's batches and neighbours are drawn. ``refresh``: epochs that have the same ones."""
    return epoch - epoch % refresh


def nodes_of_lane(nodes: int, lane: int, lanes: int) -> int:
    """Return how many of the training nodes a lane has."""
    return len(range(lane, nodes, lanes))


def step_of_draws(step: int, lanes: int) -> int:
    """Return the step that a step's draws follow from. Lanes draw as if they were one: their steps are one step of their plan."""
    return 0 if lanes > 1 else step


def node_batches(
    epoch: int, window: Window, ids: Ids, run_seed: int, start: int, refresh: int = 1, lanes: int = 1
) -> Iterator[NodeBatch]:
    """The window's batches from index ``start`` on, its nodes shuffled. ``refresh``: see `drawn_in`.

    Where there are several ``lanes``, the window's step says which one has it. The batches of all with the same index have the
    nodes that a batch of one lane has, which is as large as all of them.
    """
    order = _shuffled(ids, run_seed, drawn_in(epoch, refresh), step_of_draws(window.step, lanes), window)
    together = window.cut.size * lanes
    own = order[window.step :: lanes] if lanes > 1 else order
    for index, part in batch_slices(window, start):
        nodes = ids[own[part]]
        yield NodeBatch(epoch, window.step, index, nodes, len(nodes) / min(together, len(ids) - index * together))


def taken_batches(epoch: int, window: Window, ids: Ids, run_seed: int, take: Take) -> Iterator[NodeBatch]:
    """The batches that ``take`` gives of the window's nodes, shuffled. A batch's index is the place of its first node."""
    order = _shuffled(ids, run_seed, epoch, window.step, window)
    while (part := take()) is not None:
        yield NodeBatch(epoch, window.step, part.start, ids[order[part]])


def _shuffled(ids: Ids, run_seed: int, epoch: int, step: int, window: Window) -> npt.NDArray[np.uint32]:
    """Return the places of the window's nodes in a random order."""
    return order_for(run_seed, "shuffle", epoch, step, window.first_batch, len(ids))
