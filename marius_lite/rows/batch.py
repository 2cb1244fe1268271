"""A batch between its ids and its gradients: what tasks prepare, and what their arithmetic meets once rows have arrived."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy.typing as npt
from torch import Tensor

from marius_lite.types import Batch, Rows

Arrays = Mapping[str, npt.NDArray[Any]]
Sampled = TypeVar("Sampled")


@dataclass(frozen=True, slots=True)
class PreparedBatch(Generic[Sampled]):
    """A batch whose ids are drawn; nothing of it is on a device yet.

    ``rows``: of each table, the row of its buffer at every place of the batch, (m,) int64. ``arrays``: what else its
    arithmetic needs, by name; they travel with the rows. ``sampled``: what the task drew.
    """

    batch: Batch
    sampled: Sampled
    rows: Sequence[Rows]
    arrays: Arrays = field(default_factory=dict)


class Arrived(Protocol):
    """The same batch where it is trained: tensors of the device, or of the host."""

    def values(self) -> Tensor:
        """What stands at the batch's places, of all tables side by side: float32 (m, columns)."""

    def tensor(self, name: str) -> Tensor:
        """One of the batch's arrays."""

    def sum_segments(self, grads: Sequence[Tensor], order: str, starts: str, out: Tensor) -> None:
        """out[s] (segments, dim) = the sum of the gradients at places order[starts[s]:starts[s + 1]], in that order.

        ``grads``: the parts of all places, end to end; ``order``, ``starts``: names of arrays.
        """

    def check(self, loss: Tensor, batch: Batch) -> None:
        """RunError for a loss that is not finite, where it can be looked at without waiting."""


Learn = Callable[[PreparedBatch[Any], Arrived], tuple[Tensor, Sequence[Tensor]]]
"""A batch's loss, and the gradients of the learned rows at its places, in parts end to end; none where no rows are learned."""
