"""A batch on its way: what a task prepares from ids, and what its arithmetic reads once rows have arrived."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy.typing as npt
from torch import Generator, Tensor

from marius_lite.errors import RunError
from marius_lite.types import Batch, Rows

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


@runtime_checkable
class Repeatable(Protocol):
    """A `Learn` whose work a device can repeat, see `device.replay`. A call seeds, and does the rest."""

    generators: Sequence[Generator]
    """What `seed` seeds."""

    def __call__(self, prepared: PreparedBatch[Any], arrived: Arrived) -> tuple[Tensor, Sequence[Tensor]]: ...

    def alike(self, prepared: PreparedBatch[Any]) -> Hashable:
        """Return what is equal for batches for which `seeded` puts the same on a device, but for the numbers that arrive with
        them; None where it does not for any.
        """

    def seed(self, prepared: PreparedBatch[Any]) -> None:
        """Seed what a batch draws."""

    def seeded(self, prepared: PreparedBatch[Any], arrived: Arrived) -> tuple[Tensor, Sequence[Tensor]]:
        """Learn from a batch."""

    def repeated(self, prepared: PreparedBatch[Any], batches: int) -> None:
        """Do what the host does of `seeded`, where a device has repeated the rest; -1: take back what it did for one batch."""


def finite(loss: float, batch: Batch) -> float:
    """Return the mean loss of a batch as it is. Raises RunError where it is not finite."""
    if not math.isfinite(loss):
        raise RunError(
            f"the loss is {loss} in epoch {batch.epoch}, step {batch.step}, batch {batch.index}: "
            "lower the learning rates (optimizer.rows.lr, optimizer.dense.lr) and train anew, or "
            "resume from a checkpoint before it"
        )
    return loss
