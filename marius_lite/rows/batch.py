"""A batch on its way: what a task prepares from ids, what its arithmetic reads once rows have arrived, and how that learns."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt
from torch import Generator, Tensor

from marius_lite._native import group_rows
from marius_lite.errors import RunError
from marius_lite.optim.dense import Steps
from marius_lite.types import Batch, Rows

PIECE = 256
"""Rows of a piece of a group, at most, see `Grouped`."""
ORDER, PIECES, PIECE_ORDER, GROUPS = "group order", "group pieces", "piece order", "group starts"
Arrays = Mapping[str, npt.NDArray[Any]]
Sampled = TypeVar("Sampled")


@dataclass(frozen=True, slots=True)
class PreparedBatch(Generic[Sampled]):
    """A batch whose ids are drawn. Nothing of it is on a device yet.

    ``rows``: for each table, the row of its buffer at every place of the batch, (m,) int64. ``arrays``: what else the arithmetic
    needs, by name; they travel with the rows. ``sampled``: what the task drew.
    """

    batch: Batch
    sampled: Sampled
    rows: Sequence[Rows]
    arrays: Arrays = field(default_factory=dict)


class Arrived(Protocol):
    """A batch where it is trained: tensors on the device, or on the host."""

    def values(self) -> Tensor:
        """Return the values at the batch's places, those of all tables side by side: float32 (m, columns)."""

    def tensor(self, name: str) -> Tensor:
        """Return the batch's array of that name."""

    def sum_segments(self, grads: Sequence[Tensor], order: str, starts: str, out: Tensor) -> None:
        """Sum into out[s] (segments, dim) the gradients at places order[starts[s]:starts[s + 1]], in that order.

        ``grads``: the gradients of all places, in parts end to end. ``order``, ``starts``: names of arrays.
        """

    def check(self, loss: Tensor, batch: Batch) -> None:
        """Raise RunError for a loss that is not finite, where it can be read without waiting for a device."""


Foresee = Callable[[Sequence[Any]], object]
"""Takes note of batches that are prepared next."""
Learn = Callable[[PreparedBatch[Any], Arrived], tuple[Tensor, Sequence[Tensor]]]
"""A batch's loss, and the gradients of the learned rows at its places, in parts end to end; none where no rows are learned."""


class Learns(Protocol):
    """What a task does with a batch that has arrived."""

    def gradients(self, prepared: PreparedBatch[Any], arrived: Arrived) -> tuple[Tensor, Sequence[Tensor]]:
        """Return the mean loss, and the gradients of the learned rows at the prepared places, in parts end to end.

        Weights have their gradients in ``.grad``. Nothing waits for a device.
        """


@runtime_checkable
class Repeatable(Learns, Protocol):
    """Of which batches a device can repeat the work, see `device.replay`. `gradients` seeds, and does the rest."""

    generators: Sequence[Generator]
    """What `seed` seeds, where `alike` says something."""

    def alike(self, prepared: PreparedBatch[Any]) -> Hashable:
        """Return what is equal for batches for which `seeded_gradients` puts the same on a device, but for the numbers that
        arrive with them; None where it does not for any.
        """

    def seed(self, prepared: PreparedBatch[Any]) -> None:
        """Seed what `gradients` draws."""

    def repeated(self, prepared: PreparedBatch[Any], batches: int) -> None:
        """Count what `seeded_gradients` counts, where a device repeated the rest of it; -1: take that back."""

    def seeded_gradients(self, prepared: PreparedBatch[Any], arrived: Arrived) -> tuple[Tensor, Sequence[Tensor]]:
        """Do what `gradients` does but for the seed."""


class Learner:
    """A `Learn` by a task's gradients, then a step of the weights. ``repeats``: whether a device may repeat its work.

    What a device repeats of a batch is `seeded`, `repeated` is what the host does of it then. `seed` comes before both.
    """

    def __init__(self, learning: Learns, optimizer: Steps, repeats: bool):
        self._learning, self._optimizer = learning, optimizer
        self._repeatable = learning if repeats and optimizer.repeats and isinstance(learning, Repeatable) else None
        self.generators: Sequence[Generator] = self._repeatable.generators if self._repeatable else ()

    def __call__(self, prepared: PreparedBatch[Any], arrived: Arrived) -> tuple[Tensor, Sequence[Tensor]]:
        return self._stepped(prepared, arrived, self._learning.gradients(prepared, arrived))

    def alike(self, prepared: PreparedBatch[Any]) -> Hashable:
        """Return what is equal for batches that a device may repeat, one for another; None where it may not repeat this one."""
        alike = self._repeatable.alike(prepared) if self._repeatable else None
        return None if alike is None else (alike, self._optimizer.rate)

    def seed(self, prepared: PreparedBatch[Any]) -> None:
        assert self._repeatable is not None
        self._repeatable.seed(prepared)

    def seeded(self, prepared: PreparedBatch[Any], arrived: Arrived) -> tuple[Tensor, Sequence[Tensor]]:
        assert self._repeatable is not None
        return self._stepped(prepared, arrived, self._repeatable.seeded_gradients(prepared, arrived))

    def repeated(self, prepared: PreparedBatch[Any], batches: int) -> None:
        """Count what a device has repeated; -1: take back what was counted for one batch."""
        assert self._repeatable is not None
        self._optimizer.repeated(batches)
        self._repeatable.repeated(prepared, batches)

    def _stepped(
        self, prepared: PreparedBatch[Any], arrived: Arrived, learned: tuple[Tensor, Sequence[Tensor]]
    ) -> tuple[Tensor, Sequence[Tensor]]:
        """Return what was learned, once the weights have made a step."""
        arrived.check(learned[0], prepared.batch)
        self._optimizer.step()
        return learned


def finite(loss: float, batch: Batch) -> float:
    """Return the mean loss of a batch as it is. Raises RunError where it is not finite."""
    if not math.isfinite(loss):
        raise RunError(
            f"the loss is {loss} in epoch {batch.epoch}, step {batch.step}, batch {batch.index}: "
            "lower the learning rates (optimizer.rows.lr, optimizer.dense.lr) and train anew, or "
            "resume from a checkpoint before it"
        )
    return loss


@dataclass(frozen=True, slots=True)
class Grouped:
    """Sums a batch's rows by group, in the same order everywhere: pieces of each group first, then the pieces.

    What sums a group adds one row after the other. A group as large as the batch would take as long as all others together. So
    it is cut into pieces, whose sums are made side by side. There are ``groups`` sums, by way of ``pieces`` of them; 0: directly.
    ``arrays``: what `sum` needs, see `Arrived`.

    How many pieces there are follows from the number of rows, whatever their groups: as many as they may need at most.
    """

    groups: int
    pieces: int
    arrays: Arrays

    @classmethod
    def of(cls, groups: npt.NDArray[np.int64], count: int) -> Grouped:
        """Prepare the sums of rows by their ``groups`` (m,), each below ``count``."""
        order, pieces, starts = group_rows(groups, count, PIECE)
        if not len(pieces):
            return cls(count, 0, {ORDER: order, GROUPS: starts})
        made = len(pieces) - 1
        arrays = {ORDER: order, PIECES: pieces, PIECE_ORDER: np.arange(made, dtype=np.int32), GROUPS: starts}
        return cls(count, made, arrays)

    def sum(self, arrived: Arrived, rows: Tensor) -> Tensor:
        """Return the sums (groups, width) of rows (m, width), float32; 0 where a group has none."""
        out = rows.new_empty((self.groups, rows.shape[1]))
        if not self.pieces:
            arrived.sum_segments([rows], ORDER, GROUPS, out)
            return out
        pieces = rows.new_empty((self.pieces, rows.shape[1]))
        arrived.sum_segments([rows], ORDER, PIECES, pieces)
        arrived.sum_segments([pieces], PIECE_ORDER, GROUPS, out)
        return out
