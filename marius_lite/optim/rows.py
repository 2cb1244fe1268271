"""The optimizers of node rows. An optimizer's state is beside the values in each record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from marius_lite._native import ROW_OPTIMIZERS as KNOWN
from marius_lite._native import row_step


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

    @property
    def step(self) -> Callable[..., None]:
        """What makes one step: ``step(table, rows, grads, lr, seed)``, native.

        It changes ``rows`` (u,), ascending and unique, of ``table`` (n, width) by ``grads`` (u, dim). ``seed``: from it follows,
        beside record and gradient, how bfloat16 is rounded.

        Raises ValueError, before anything changes, for rows outside the table or out of order, records that are too narrow, or an
        unknown option.
        """
        return partial(row_step, self.name, **self.options)


ROW_OPTIMIZERS: dict[str, Callable[..., RowOptimizer]] = {name: partial(RowOptimizer.of, name) for name in KNOWN}
"""The row optimizers by name. Each takes its options, with the usual values where none are given."""
