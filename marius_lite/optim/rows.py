"""Update node rows by a batch's gradients. An optimizer's state is beside the values in each record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from marius_lite._native import ROW_OPTIMIZERS as KNOWN
from marius_lite._native import row_step, segment_sum, sort_rows
from marius_lite.device.clip import clip_rows_
from marius_lite.storage.bfloat16 import BITS
from marius_lite.types import RowGrads, Rows

Floats = npt.NDArray[np.float32]

ROWS_AT_A_TIME = 2048
"""Rows that are summed and then updated at a time. Their sums stay in a processor's caches."""


@dataclass(frozen=True)
class RowOptimizer:
    """Changes records of a table in place, by one of the formulas in csrc/rows/formulas.h.

    A record has ``dim`` value columns, then the columns of the optimizer's state, which are 0 at first (see `storage.record`).
    Results do not depend on the number of threads.
    """

    name: str
    options: Mapping[str, Any]

    @classmethod
    def of(cls, name: str, **options: float) -> RowOptimizer:
        """Make the optimizer, with the usual value for each option that is not given."""
        return cls(name, {**KNOWN[name]["options"], **options})

    def step(self, table: npt.NDArray[Any], rows: Rows, grads: Floats, lr: float, seed: int = 0) -> None:
        """Make one step for ``rows`` (u,), ascending and unique, of ``table`` (n, width) with ``grads`` (u, dim).

        ``seed``: from it follows, beside record and gradient, how bfloat16 is rounded.

        Raises ValueError, before anything changes, for rows outside the table or out of order, records that are too narrow, or an
        unknown option.
        """
        if table.dtype == BITS:
            row_step(self.name, table, rows, grads, lr, key=seed & 0xFFFFFFFF, **self.options)
        else:
            row_step(self.name, table, rows, grads, lr, **self.options)


ROW_OPTIMIZERS: dict[str, Callable[..., RowOptimizer]] = {name: partial(RowOptimizer.of, name) for name in KNOWN}
"""The row optimizers by name. Each takes its options, with the usual values where none are given."""


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

    def apply(self, table: npt.NDArray[Any], grads: RowGrads) -> Rows:
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
            self.optimizer.step(table, some, sums, self.lr * self.rate, grads.seed)
        return rows

    def _laid_end_to_end(self, grads: RowGrads) -> Rows:
        """Return the rows of all parts in one array, which is reused by the next call."""
        count = sum(len(part) for part in grads.rows)
        if count > len(self._rows):
            self._rows = np.empty(count + count // 4, np.int64)
        out = self._rows[:count]
        np.concatenate(grads.rows, out=out)
        return out
