"""Optimizers of node rows, whose state lives beside the values in each record."""

from collections.abc import Callable
from functools import partial

from marius_lite._native import ROW_OPTIMIZERS as KNOWN
from marius_lite.optim.rows.base import RowOptimizer
from marius_lite.optim.rows.updater import HostRowUpdater

ROW_OPTIMIZERS: dict[str, Callable[..., RowOptimizer]] = {name: partial(RowOptimizer.of, name) for name in KNOWN}
"""By name, those of csrc/rows/formulas.h; each is made with its options, the usual ones where none are given."""

__all__ = ["ROW_OPTIMIZERS", "HostRowUpdater", "RowOptimizer"]
