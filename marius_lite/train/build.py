"""The wiring of a run: the only file that knows every class."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

import torch

from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.resolve import resolve
from marius_lite.config.schema import Config
from marius_lite.device import verified
from marius_lite.device.accelerator import Accelerator, check_device, open_accelerator
from marius_lite.device.chooser import expected_loads
from marius_lite.device.cuda import open_device_rows
from marius_lite.device.host import HostGather
from marius_lite.device.rows import DeviceRows, RowUpdate
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.facts import facts_of
from marius_lite.metrics import MetricsLog
from marius_lite.nn.model import LinkPredictionModel, initial_values
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.optim.rows import ROW_OPTIMIZERS, RowUpdater
from marius_lite.ordering.plan import make_plan
from marius_lite.sampling.negatives import NegativeSampler
from marius_lite.sampling.windows import WindowReader
from marius_lite.seeds import generator_for
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.record import record_of
from marius_lite.storage.table import RowTable, create_group
from marius_lite.train.allocator import bound_kernel_caches, keep_large_blocks
from marius_lite.train.evaluation import evaluate_split
from marius_lite.train.parts import Parts

NODES = "nodes"
INITIAL_BLOCK = 1 << 16


def resolved(dataset: Dataset, config: Config) -> tuple[Config, MemoryPlan]:
    return resolve(config, facts_of(dataset, config, torch.cuda.is_available()))


def build(run: RunFolder, dataset: Dataset, config: Config, memory: MemoryPlan, metrics: MetricsLog,
          table: RowTable, show_progress: bool) -> Parts:
    """Every part of a run over the rows in ``table``."""
    model_config, threads = config.model, int(config.training.threads)
    prepare_torch(config)
    device = check_device(config.device)
    edges = dataset.edges("train")
    model = make_model(dataset, config).to(device)
    buffer = PartitionBuffer(table, memory.slots, threads=config.storage.io_threads, direct=config.storage.direct_io)
    ring = config.training.staleness + 2 if config.training.staleness else 1
    gather = HostGather(buffer.rows, model_config.dim, ring, threads)
    accelerator = open_accelerator(device)
    try:
        on_device = make_device_rows(accelerator, dataset, buffer, config) if accelerator else None
    except BaseException:
        buffer.close()
        raise
    sampler = NegativeSampler(config.negatives.count, config.negatives.chunks, config.negatives.degree_fraction,
                              config.training.seed)
    rows = config.optimizer.rows
    updater = RowUpdater(ROW_OPTIMIZERS[rows.name](), model_config.dim, rows.lr)
    return Parts(run=run, config=config, memory=memory, dataset=dataset, edges=edges, table=table, buffer=buffer,
                 reader=WindowReader(edges, memory.window_edges), sampler=sampler, gather=gather,
                 apply=partial(updater.apply, buffer.rows), on_device=on_device, model=model,
                 optimizer=DenseOptimizer(config.optimizer.dense.name, model, config.optimizer.dense.lr),
                 evaluate=lambda: evaluate_split(dataset, buffer, model, config, config.evaluation.split,
                                                 int(config.evaluation.max_edges)),
                 metrics=metrics, show_progress=show_progress)


def make_device_rows(accelerator: Accelerator, dataset: Dataset, buffer: PartitionBuffer, config: Config) -> DeviceRows:
    """The buffer's rows on a GPU; says which way they take."""
    storage, rows, negatives = config.storage, config.optimizer.rows, config.negatives
    plan = make_plan(storage.ordering, dataset.partitioning.partitions, int(storage.capacity), config.training.seed, 0)
    loads = expected_loads(plan, dataset.edges("train").counts, dataset.partitioning.rows, config.training.batch_size,
                           2 * negatives.chunks * negatives.count)
    update = RowUpdate.of(rows.name, ROW_OPTIMIZERS[rows.name](), rows.lr)
    made, choice = open_device_rows(accelerator, config, buffer.rows, buffer.slot_rows, update, loads)
    unproven = "" if verified.GPUS else f" ({accelerator.device}: this code is {verified.UNPROVEN})"
    print(f"rows reach {accelerator.device} by {choice.path}: {choice.why}{unproven}", file=sys.stderr)
    return made


def make_model(dataset: Dataset, config: Config) -> LinkPredictionModel:
    """The model with its initial relations, on the CPU."""
    model, loss = config.model, config.loss
    options = {"logistic": {"temperature": loss.adversarial_temperature}, "margin": {"margin": loss.margin}}
    return LinkPredictionModel(
        model.decoder, dataset.manifest.relations, model.dim, generator_for(config.training.seed, "relations"),
        reciprocal=model.reciprocal, loss=loss.name, loss_options=options.get(loss.name), dropout=model.dropout,
        n3_weight=config.regularizer.weight if config.regularizer.name == "n3" else 0.0)


def prepare_torch(config: Config) -> None:
    """Threads, deterministic kernels where the run promises them, and an allocator that keeps its pages."""
    bound_kernel_caches()
    keep_large_blocks()
    torch.set_num_threads(int(config.training.threads))
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it cuBLAS is not deterministic, and torch refuses
    torch.use_deterministic_algorithms(config.training.staleness == 0)


def create_table(path: Path, dataset: Dataset, config: Config) -> RowTable:
    """An empty table of the run's records, in a Zarr group of its own."""
    record = record_of(config.optimizer.rows.name, config.model.dim)
    create_group(path)
    return RowTable.create(path / NODES, dataset.partitioning.nodes, record.width, dataset.partitioning.rows, {
        "values": [0, record.dim], "state": [record.dim, record.dim + record.state_columns],
        "decoder": config.model.decoder, "row_optimizer": config.optimizer.rows.name})


def initialise(buffer: PartitionBuffer, config: Config) -> dict[int, int]:
    """Make every partition's first rows, in the buffer; checksums of the files."""
    partitions, dim = buffer.table.partitions, config.model.dim
    held = buffer.slots if buffer.slots >= partitions else buffer.slots - 1
    for k in range(partitions):
        rows = buffer.adopt(k)
        generator = generator_for(config.training.seed, "nodes", worker=k)
        for start in range(0, len(rows), INITIAL_BLOCK):
            part = rows[start:start + INITIAL_BLOCK]
            part[:, :dim] = initial_values(generator, len(part), dim, config.model.decoder)
        buffer.enter(range(max(0, k + 1 - held), k + 1))
    return buffer.flush()


def model_weights(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The model's part of a checkpoint's dense tensors."""
    return _part(tensors, "model.")


def optimizer_state(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return _part(tensors, "optimizer.")


def _part(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
