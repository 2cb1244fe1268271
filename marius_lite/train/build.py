"""The wiring of a run, by its task."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import torch

from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.resolve import resolve
from marius_lite.config.schema import Config
from marius_lite.device.library import usable
from marius_lite.errors import UserError
from marius_lite.files import MOST_REASON
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.facts import facts_of
from marius_lite.metrics import MetricsLog
from marius_lite.nn.evaluable import with_encoder
from marius_lite.storage.record import record_of
from marius_lite.storage.table import RowTable, create_group
from marius_lite.train.allocator import bound_kernel_caches, keep_large_blocks
from marius_lite.train.build_links import build_links
from marius_lite.train.build_nodes import build_nodes
from marius_lite.train.parts import Parts

NODES = "nodes"


def resolved(dataset: Dataset, config: Config) -> tuple[Config, MemoryPlan]:
    return resolve(config, with_encoder(config, facts_of(dataset, config, usable())))


def build(run: RunFolder, dataset: Dataset, config: Config, memory: MemoryPlan, metrics: MetricsLog,
          table: RowTable | None) -> Parts:
    """Every part of a run over the learned rows in ``table``, where it learns any."""
    prepare_torch(config)
    if config.task == "node_classification":
        return build_nodes(run, dataset, config, memory, metrics, table)
    return build_links(run, dataset, config, memory, metrics, table)


def prepare_torch(config: Config) -> None:
    """Threads, deterministic kernels where the run promises them, and an allocator that keeps its pages."""
    bound_kernel_caches()
    keep_large_blocks()
    torch.set_num_threads(int(config.training.threads))
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it cuBLAS is not deterministic, and torch refuses
    torch.use_deterministic_algorithms(config.training.staleness == 0)


def create_table(path: Path, dataset: Dataset, config: Config) -> RowTable | None:
    """A Zarr group with an empty table of the run's records, where it learns rows."""
    create_group(path)
    if config.model.inputs == "features":
        return None
    record = record_of(config.optimizer.rows.name, config.model.dim)
    return RowTable.create(path / NODES, dataset.partitioning.nodes, record.width, dataset.partitioning.rows, {
        "values": [0, record.dim], "state": [record.dim, record.dim + record.state_columns],
        "decoder": config.model.decoder, "row_optimizer": config.optimizer.rows.name})


def open_table(path: Path, dataset: Dataset, config: Config, checksums: Mapping[int, int]) -> RowTable | None:
    """What `create_table` made, in ``live/`` or a checkpoint, and what its files hold. Raises UserError for another table."""
    if config.model.inputs == "features":
        return None
    table, partitioning = RowTable.open(path / NODES), dataset.partitioning
    width = record_of(config.optimizer.rows.name, config.model.dim).width
    if table != RowTable(table.path, partitioning.nodes, width, partitioning.rows):
        found = f"{table.nodes:,} rows of {table.width} {table.dtype}, {table.rows_per_partition:,} in a file"
        wanted = f"{partitioning.nodes:,} of {width} float32, {partitioning.rows:,} in a file"
        raise UserError(f"{table.path}: {found}, the run has {wanted}: damaged, choose another checkpoint with --checkpoint")
    return table.expecting(checksums)


def load_weights(model: torch.nn.Module, tensors: dict[str, torch.Tensor], checkpoint: Path) -> None:
    """The model's part of a checkpoint's dense tensors into ``model``. Raises UserError where they are another model's."""
    try:
        model.load_state_dict(_part(tensors, "model."))
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:MOST_REASON]
        raise UserError(f"{checkpoint}: its weights are not those of the model in config.yaml ({reason}): undo what was changed "
                        "there") from error


def optimizer_state(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return _part(tensors, "optimizer.")


def _part(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
