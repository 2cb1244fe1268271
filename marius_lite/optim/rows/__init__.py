"""Optimizers of node rows, whose state lives beside the values in each record."""

from marius_lite.optim.rows.adagrad import Adagrad
from marius_lite.optim.rows.adam import Adam
from marius_lite.optim.rows.base import RowOptimizer
from marius_lite.optim.rows.row_adagrad import RowAdagrad
from marius_lite.optim.rows.sgd import SGD
from marius_lite.optim.rows.updater import RowUpdater

ROW_OPTIMIZERS: dict[str, type[RowOptimizer]] = {
    "sgd": SGD,
    "row_adagrad": RowAdagrad,
    "adagrad": Adagrad,
    "adam": Adam,
}

__all__ = ["ROW_OPTIMIZERS", "SGD", "Adagrad", "Adam", "RowAdagrad", "RowOptimizer", "RowUpdater"]
