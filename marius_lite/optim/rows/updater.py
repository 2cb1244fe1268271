"""Update records by a batch's gradients: group equal rows, sum their gradients, make a step."""

from __future__ import annotations

import numpy as np
import torch

from marius_lite._native import segment_sum, sort_rows
from marius_lite.device.clip import clip_rows_
from marius_lite.optim.rows.base import Floats, RowOptimizer
from marius_lite.types import RowGrads, Rows

ROWS_AT_A_TIME = 2048
"""Rows that are summed and then updated at a time. Their sums stay in a processor's caches."""


class HostRowUpdater:
    """Applies `RowGrads` to a table of records. It keeps its buffers, so only one thread may use it at a time.

    ``rate`` multiplies the learning rate. ``clip``: the largest norm of a row's summed gradient; 0: no limit.
    """

    def __init__(self, optimizer: RowOptimizer, dim: int, lr: float, clip: float = 0.0):
        self.optimizer = optimizer
        self.dim = dim
        self.lr = lr
        self.clip = clip
        self.rate = 1.0
        self._rows: Rows = np.empty(0, np.int64)
        self._sums: Floats = np.empty((ROWS_AT_A_TIME, dim), np.float32)

    def apply(self, table: Floats, grads: RowGrads) -> Rows:
        """Update ``table`` (n, width) in place. Returns the rows that changed, ascending.

        Gradients of equal rows are summed in the order of their positions, so that the bits are the same every time.
        """
        rows: Rows
        rows, order, starts = sort_rows(self._laid_end_to_end(grads))
        parts = [grad.numpy() for grad in grads.grads]
        for first in range(0, len(rows), ROWS_AT_A_TIME):
            some = rows[first : first + ROWS_AT_A_TIME]
            sums = self._sums[: len(some)]
            segment_sum(parts, order, starts[first : first + len(some) + 1], sums)
            if self.clip:
                clip_rows_(torch.from_numpy(sums), self.clip)
            self.optimizer.step(table, some, sums, self.lr * self.rate)
        return rows

    def _laid_end_to_end(self, grads: RowGrads) -> Rows:
        """Return the rows of all parts in one array, which is reused by the next call."""
        count = sum(len(part) for part in grads.rows)
        if count > len(self._rows):
            self._rows = np.empty(count + count // 4, np.int64)
        out = self._rows[:count]
        np.concatenate(grads.rows, out=out)
        return out
