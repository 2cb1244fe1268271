"""Plain stochastic gradient descent: value -= lr * g."""

from __future__ import annotations

from dataclasses import dataclass

from marius_lite._native import sgd_step
from marius_lite.optim.rows.base import Floats, RowOptimizer
from marius_lite.types import Rows


@dataclass(frozen=True)
class SGD(RowOptimizer):
    """No state."""

    def state_columns(self, dim: int) -> int:
        return 0

    def step(self, table: Floats, rows: Rows, grads: Floats, lr: float) -> None:
        sgd_step(table, rows, grads, lr)
