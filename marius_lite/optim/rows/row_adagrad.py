"""Row-wise Adagrad: one accumulated number a row, the mean of its squared gradients."""

from __future__ import annotations

from dataclasses import dataclass

from marius_lite._native import row_adagrad_step
from marius_lite.optim.rows.base import Floats, RowOptimizer
from marius_lite.types import Rows


@dataclass(frozen=True)
class RowAdagrad(RowOptimizer):
    """state += mean(g^2); value -= lr * g / (sqrt(state) + eps).

    As in PyTorch-BigGraph (Lerer et al., MLSys 2019): 4 bytes of state a row instead of 4 * dim.
    """

    eps: float = 1e-10

    def state_columns(self, dim: int) -> int:
        return 1

    def step(self, table: Floats, rows: Rows, grads: Floats, lr: float) -> None:
        row_adagrad_step(table, rows, grads, lr, self.eps)
