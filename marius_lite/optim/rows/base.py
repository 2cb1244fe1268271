"""A row optimizer: one of csrc/rows/formulas.h, by its name, with its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import ROW_OPTIMIZERS, row_step
from marius_lite.storage.record import record_of
from marius_lite.types import Rows

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class RowOptimizer:
    """Changes rows of a table of records in place: ``dim`` value columns, then the optimizer's state columns.

    Results do not depend on the number of threads.
    """

    name: str
    options: Mapping[str, Any]

    @classmethod
    def of(cls, name: str, **options: float) -> RowOptimizer:
        """With the usual options where others are not given."""
        return cls(name, {**ROW_OPTIMIZERS[name]["options"], **options})

    def state_columns(self, dim: int) -> int:
        """How many float32 columns of state a row of ``dim`` values needs."""
        return record_of(self.name, dim).state_columns

    def initial_state(self, dim: int) -> Floats:
        """The state of a row that was never updated, shape (state_columns,)."""
        return np.zeros(self.state_columns(dim), np.float32)

    def step(self, table: Floats, rows: Rows, grads: Floats, lr: float) -> None:
        """One step for ``rows`` (u,), ascending and unique, of ``table`` (n, width) with ``grads`` (u, dim).

        ValueError, before anything changes, for rows outside the table or out of order, narrow records, or an unknown option.
        """
        row_step(self.name, table, rows, grads, lr, **self.options)
