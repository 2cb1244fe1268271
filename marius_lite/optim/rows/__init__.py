"""Optimizers of node rows. Their state is beside the values in each record."""

from collections.abc import Callable
from functools import partial

from marius_lite._native import ROW_OPTIMIZERS as KNOWN
from marius_lite.optim.rows.base import RowOptimizer
from marius_lite.optim.rows.updater import HostRowUpdater

ROW_OPTIMIZERS: dict[str, Callable[..., RowOptimizer]] = {name: partial(RowOptimizer.of, name) for name in KNOWN}
"""The row optimizers of csrc/rows/formulas.h by name. Each takes its options, with the usual values where none are given."""

__all__ = ["ROW_OPTIMIZERS", "HostRowUpdater", "RowOptimizer"]
