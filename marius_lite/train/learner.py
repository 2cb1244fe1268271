"""Learn from batches: the task's gradients, then a step of the weights."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from marius_lite.optim.dense import Steps
from marius_lite.rows.batch import Arrived, PreparedBatch
from marius_lite.tasks.task import Learning, RepeatableLearning


class Learner:
    """See `rows.batch.Repeatable`. ``repeats``: whether a device may repeat its work."""

    def __init__(self, learning: Learning, optimizer: Steps, repeats: bool):
        self._learning, self._optimizer = learning, optimizer
        can = repeats and optimizer.repeats and isinstance(learning, RepeatableLearning)
        self._repeatable = cast(RepeatableLearning, learning) if can else None

    @property
    def generators(self) -> Sequence[torch.Generator]:
        return self._repeatable.generators if self._repeatable else ()

    def __call__(self, prepared: PreparedBatch[Any], arrived: Arrived) -> tuple[Tensor, Sequence[Tensor]]:
        return self._stepped(prepared, arrived, self._learning.gradients(prepared, arrived))

    def alike(self, prepared: PreparedBatch[Any]) -> Hashable:
        alike = self._repeatable.alike(prepared) if self._repeatable else None
        return None if alike is None else (alike, self._optimizer.rate)

    def seed(self, prepared: PreparedBatch[Any]) -> None:
        assert self._repeatable is not None
        self._repeatable.seed(prepared)

    def seeded(self, prepared: PreparedBatch[Any], arrived: Arrived) -> tuple[Tensor, Sequence[Tensor]]:
        assert self._repeatable is not None
        return self._stepped(prepared, arrived, self._repeatable.seeded_gradients(prepared, arrived))

    def repeated(self, prepared: PreparedBatch[Any], batches: int) -> None:
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
