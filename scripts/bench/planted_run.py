"""Make a run whose rows are planted: clusters of clusters, few strong directions, norms that differ, as trained rows have them.

Nothing is trained, so a table of any size takes minutes. The files are those of a trained run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import marius_lite as ml
from marius_lite.checkpoint import run_folder
from marius_lite.checkpoint.save import save
from marius_lite.checkpoint.state import Cursor, State
from marius_lite.rows.table import create_table
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.fill import each_adopted
from marius_lite.tasks.link_model import make_model
from marius_lite.tasks.resolved import resolved

CLUSTER = 200
"""Nodes of a cluster, on average."""
BLOCK = 1 << 16
EDGES = 2
"""Edges of a node."""


def plant(folder: Path, nodes: int, dim: int, memory: str, partitions: int = 32) -> Path:
    """Make ``folder``/dataset and ``folder``/run, unless they are there. Returns the run."""
    run, data = folder / "run", folder / "dataset"
    if (run / "checkpoints" / "latest").exists():
        return run
    if not data.exists():
        folder.mkdir(parents=True, exist_ok=True)
        generator = np.random.default_rng(1)
        sources = np.repeat(np.arange(nodes, dtype=np.int64), EDGES)
        np.save(folder / "edges.npy", np.stack([sources, generator.integers(nodes, size=len(sources))], 1))
        ml.make_dataset([str(folder / "edges.npy")], str(data), partitions=partitions, split="0.98,0.01,0.01", memory="2GB")
        (folder / "edges.npy").unlink()
    settings: dict[str, Any] = {
        "model": {"decoder": "dot", "dim": dim, "biases": False},
        "optimizer": {"rows": {"name": "sgd", "lr": 0.1}},
        "storage": {"memory": memory},
        "training": {"epochs": 1, "batch_size": 1000},
        "negatives": {"count": 100},
    }
    dataset, config = ml.open_dataset(str(data)), ml.load_config(values=settings)
    config, _ = resolved(dataset, config)
    with run_folder.create(run, dataset, config, {}) as made:
        table = create_table(made.live, dataset, config)
        assert table is not None
        drawn = Planted(nodes, dim)
        with PartitionBuffer(table, 3) as buffer:
            for k in each_adopted(buffer, table.partitions, 3):
                rows = buffer.resident.view(k)
                for start in range(0, len(rows), BLOCK):
                    part = rows[start : start + BLOCK]
                    part[:, :dim] = drawn.rows(np.random.default_rng([2, k, start]), len(part))
            checksums = buffer.flush()
        weights = {f"model.{name}": tensor for name, tensor in make_model(dataset, config).state_dict().items()}
        made.metrics_file.touch()
        save(made, State(Cursor(1), dataset.fingerprint, checksums, 0), weights, 1)
    return run


class Planted:
    """Draws rows around the centres of clusters."""

    def __init__(self, nodes: int, dim: int):
        generator = np.random.default_rng(3)
        self._deviations = ((1 + np.arange(dim)) ** -0.5).astype(np.float32)
        clusters = max(2, nodes // CLUSTER)
        coarse = generator.standard_normal((max(2, clusters // 50), dim), np.float32)
        self._centres = coarse[generator.integers(len(coarse), size=clusters)]
        self._centres += 0.7 * generator.standard_normal((clusters, dim), np.float32)

    def rows(self, generator: np.random.Generator, count: int) -> npt.NDArray[np.float32]:
        """Draw ``count`` rows."""
        rows = self._centres[generator.integers(len(self._centres), size=count)]
        rows += 0.5 * generator.standard_normal(rows.shape, np.float32)
        rows *= self._deviations * np.exp(0.25 * generator.standard_normal((count, 1), np.float32))
        return rows
