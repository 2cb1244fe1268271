"""Adam (Kingma & Ba, ICLR 2015) on rows: moments change, and steps count, only when a row is in a batch."""

from __future__ import annotations

from dataclasses import dataclass

from marius_lite._native import adam_step
from marius_lite.optim.rows.base import Floats, RowOptimizer
from marius_lite.types import Rows


@dataclass(frozen=True)
class Adam(RowOptimizer):
    """State: first moments, second moments, and the row's number of steps, which corrects their bias."""

    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8

    def state_columns(self, dim: int) -> int:
        return 2 * dim + 1

    def step(self, table: Floats, rows: Rows, grads: Floats, lr: float) -> None:
        adam_step(table, rows, grads, lr, self.beta1, self.beta2, self.eps)
