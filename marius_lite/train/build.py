"""The wiring of a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import torch

from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.resolve import resolve
from marius_lite.config.schema import Config
from marius_lite.device.accelerator import check_device, open_accelerator
from marius_lite.device.library import usable
from marius_lite.encode.encoders import weight_decays
from marius_lite.encode.open import represent
from marius_lite.errors import UserError
from marius_lite.files import MOST_REASON
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.facts import facts_of
from marius_lite.metrics import MetricsLog
from marius_lite.nn.evaluable import with_encoder
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.rows.open import device_rows, host_rows, open_buffers
from marius_lite.rows.resident import ResidentRows
from marius_lite.storage.record import record_of
from marius_lite.storage.table import RowTable, create_group
from marius_lite.tasks import task_of
from marius_lite.tasks.task import Setting
from marius_lite.train.allocator import bound_kernel_caches, keep_large_blocks
from marius_lite.train.parts import Parts, Regularized
from marius_lite.train.work import Work

NODES = "nodes"


def resolved(dataset: Dataset, config: Config) -> tuple[Config, MemoryPlan]:
    return resolve(config, with_encoder(config, facts_of(dataset, config, usable())))


def build(run: RunFolder, dataset: Dataset, config: Config, memory: MemoryPlan, metrics: MetricsLog,
          table: RowTable | None) -> Parts:
    """Every part of a run over a dataset's features and the learned rows in ``table``, of what there is."""
    prepare_torch(config)
    task, device = task_of(config), check_device(config.device)
    model = task.make_model(dataset, config, trains=True).to(device)
    dense = config.optimizer.dense
    optimizer = DenseOptimizer(dense.name, model, dense.lr, weight_decays(config, model.encoder), dense.clip)
    buffers, accelerator = open_buffers(dataset, config, memory.slots, table), open_accelerator(device)
    rows: ResidentRows
    if accelerator is None:
        rows = host_rows(buffers, dataset, config)
    else:
        needs, loads = task.device_needs(dataset, config), task.loads(dataset, config)
        rows = device_rows(accelerator, buffers, dataset, config, needs, loads)
    representation = represent(rows, accelerator, dataset, config, model.encoder, task.input_dropout(config))
    learning = task.learning(Setting(dataset, config, memory, run.path), rows, representation, model)
    work = Work(config, partial(task.plan, dataset, config), learning, representation, optimizer)
    return Parts(run, config, work, model, optimizer, [optimizer, *rows.rated()], metrics,
                 model if isinstance(model, Regularized) else None)


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
