"""Adagrad (Duchi et al., JMLR 2011) with one accumulator a number, like torch.optim.Adagrad."""

from __future__ import annotations

from dataclasses import dataclass

from marius_lite._native import adagrad_step
from marius_lite.optim.rows.base import Floats, RowOptimizer
from marius_lite.types import Rows


@dataclass(frozen=True)
class Adagrad(RowOptimizer):
    """state += g^2; value -= lr * g / (sqrt(state) + eps)."""

    eps: float = 1e-10

    def state_columns(self, dim: int) -> int:
        return dim

    def step(self, table: Floats, rows: Rows, grads: Floats, lr: float) -> None:
        adagrad_step(table, rows, grads, lr, self.eps)
