"""A row optimizer: one of the formulas in csrc/rows/formulas.h, by its name, with its options."""

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
    """Changes records of a table in place. A record has ``dim`` value columns, then the columns of the optimizer's state.

    Results do not depend on the number of threads.
    """

    name: str
    options: Mapping[str, Any]

    @classmethod
    def of(cls, name: str, **options: float) -> RowOptimizer:
        """Make the optimizer, with the usual value for each option that is not given."""
        return cls(name, {**ROW_OPTIMIZERS[name]["options"], **options})

    def state_columns(self, dim: int) -> int:
        """Return how many float32 columns of state a row of ``dim`` values needs."""
        return record_of(self.name, dim).state_columns

    def initial_state(self, dim: int) -> Floats:
        """Return the state of a row that was never updated, shape (state_columns,)."""
        return np.zeros(self.state_columns(dim), np.float32)

    def step(self, table: Floats, rows: Rows, grads: Floats, lr: float) -> None:
        """Make one step for ``rows`` (u,), ascending and unique, of ``table`` (n, width) with ``grads`` (u, dim).

        Raises ValueError, before anything changes, for rows outside the table or out of order, records that are too narrow, or an
        unknown option.
        """
        row_step(self.name, table, rows, grads, lr, **self.options)
