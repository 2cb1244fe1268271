"""What every row optimizer is: a number of state columns and a step on records."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from marius_lite.types import Rows

Floats = npt.NDArray[np.float32]


class RowOptimizer(ABC):
    """Changes rows of a table of records in place: ``dim`` value columns, then the optimizer's state columns.

    Options are the fields of each (frozen) dataclass, with their defaults. Results do not depend on the
    number of threads.
    """

    @abstractmethod
    def state_columns(self, dim: int) -> int:
        """How many float32 columns of state a row of ``dim`` values needs."""

    def initial_state(self, dim: int) -> Floats:
        """The state of a row that was never updated, shape (state_columns,)."""
        return np.zeros(self.state_columns(dim), np.float32)

    @abstractmethod
    def step(self, table: Floats, rows: Rows, grads: Floats, lr: float) -> None:
        """One step for ``rows`` (u,), ascending and unique, of ``table`` (n, width) with ``grads`` (u, dim).

        ValueError, before anything changes, for rows outside the table or out of order, or narrow records.
        """
