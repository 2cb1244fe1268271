"""Shared by the tests of runs that go on from another: small runs over a dataset of two versions."""

import numpy as np

import marius_lite
from marius_lite.config.load import load
from marius_lite.storage.table import RowTable

STILL = {"optimizer.rows.lr": 1e-30, "optimizer.dense.lr": 1e-30}
"""Rates at which nothing changes that float32 can tell."""
CONFIG = {
    "model": {"decoder": "distmult", "dim": 8, "biases": False},
    "training": {"epochs": 2, "batch_size": 100},
    "negatives": {"count": 20, "chunks": 1},
    "storage": {"capacity": 2},
    "optimizer": {"schedule": {"name": "constant"}},
}


def config_of(**changed):
    return load(None, [f"{name}={value}" for name, value in changed.items()], CONFIG)


def checkpoint(run):
    return run / "checkpoints/latest"


def rows_of(run):
    table = RowTable.open(checkpoint(run) / "nodes")
    return np.concatenate([table.read_block(k, 0, table.size(k)) for k in range(table.partitions)])


def make_grown(folder):
    """Make dataset ``d`` of two versions, the second with more nodes and relations, and ``old``, a run over the first."""
    rng = np.random.default_rng(5)
    np.savetxt(folder / "e.tsv", rng.integers(0, (60, 3, 60), (500, 3)), "n%d\tr%d\tn%d")
    np.savetxt(folder / "new.tsv", rng.integers(0, (80, 5, 80), (200, 3)), "n%d\tr%d\tn%d")
    marius_lite.make_dataset(folder / "e.tsv", folder / "d", partitions=3)
    marius_lite.train_run(folder / "d", folder / "old", config_of())
    marius_lite.update_dataset(folder / "d", folder / "new.tsv")
