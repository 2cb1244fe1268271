"""The wiring of a run: the only file that knows every class."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.checkpoint.state import State
from marius_lite.config import machine
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.resolve import Facts, resolve
from marius_lite.config.schema import Config
from marius_lite.device.chooser import make_gather, open_device
from marius_lite.evaluate.run import evaluate_split
from marius_lite.graph.dataset import Dataset
from marius_lite.metrics import MetricsLog
from marius_lite.nn.model import LinkPredictionModel, initial_values
from marius_lite.optim.apply import RowUpdate
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.sampling.negatives import NegativeSampler
from marius_lite.sampling.windows import WindowReader
from marius_lite.seeds import generator_for, seed_for
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.pool import SnapshotPool
from marius_lite.storage.record import RecordLayout, record_of
from marius_lite.storage.table import RowTable
from marius_lite.train.allocator import keep_large_blocks
from marius_lite.train.parts import Parts

NODES = "nodes"


def facts_of(dataset: Dataset, config: Config, cuda: bool) -> Facts:
    """What `resolve` needs to know, from the manifest and this machine."""
    record = record_of(config.optimizer.rows.name, config.model.dim)
    return Facts(nodes=dataset.manifest.nodes, relations=dataset.manifest.relations,
                 partitions=dataset.partitioning.partitions, rows_per_partition=dataset.partitioning.rows,
                 bucket_counts=dataset.edges("train").counts, stride=record.stride,
                 available_memory=machine.available_memory(), threads=machine.cpu_threads(), cuda=cuda)


def resolved(dataset: Dataset, config: Config) -> tuple[Config, MemoryPlan]:
    return resolve(config, facts_of(dataset, config, torch.cuda.is_available()))


def build(run: RunFolder, dataset: Dataset, config: Config, memory: MemoryPlan, metrics: MetricsLog,
          table: RowTable, show_progress: bool) -> Parts:
    """Every part of a run over the rows in ``table``."""
    keep_large_blocks()
    model_config, threads = config.model, int(config.training.threads)
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(config.training.staleness == 0)
    device = open_device(config.device)
    record = record_of(config.optimizer.rows.name, model_config.dim)
    partitioning, edges = dataset.partitioning, dataset.edges("train")
    model = make_model(dataset, config).to(device)
    buffer = PartitionBuffer(table, memory.slots, threads=config.storage.io_threads, direct=config.storage.direct_io)
    pool = SnapshotPool([partitioning.size(k) for k in range(partitioning.partitions)],
                        int(config.negatives.pool_rows), model_config.dim, config.training.seed)
    ring = config.training.staleness + 2 if config.training.staleness else 1
    gather = make_gather(device, buffer.rows, pool.rows, model_config.dim, ring, threads)
    sampler = NegativeSampler(config.negatives.count, config.negatives.chunks, config.negatives.degree_fraction,
                              float(config.negatives.pool_fraction), config.training.seed)
    rows = config.optimizer.rows
    return Parts(run=run, config=config, memory=memory, dataset=dataset, edges=edges, table=table, buffer=buffer, pool=pool,
                 reader=WindowReader(edges, memory.window_edges), sampler=sampler, gather=gather, model=model,
                 optimizer=DenseOptimizer(model, config.optimizer.dense.name, config.optimizer.dense.lr),
                 apply=RowUpdate(buffer.rows, record, rows.name, rows.lr, threads),
                 evaluate=lambda: evaluate_split(dataset, buffer, model, config),
                 metrics=metrics, show_progress=show_progress)


def make_model(dataset: Dataset, config: Config) -> LinkPredictionModel:
    """The model with its initial relations, on the CPU."""
    model, loss = config.model, config.loss
    generator = torch.Generator().manual_seed(seed_for(config.training.seed, "relations"))
    return LinkPredictionModel(decoder=model.decoder, relations=dataset.manifest.relations, dim=model.dim, norm=model.norm,
                               reciprocal=model.reciprocal, loss=loss.name, margin=loss.margin,
                               adversarial_temperature=loss.adversarial_temperature, dropout=model.dropout,
                               n3=config.regularizer.weight if config.regularizer.name == "n3" else 0.0,
                               generator=generator)


def initialise(buffer: PartitionBuffer, dataset: Dataset, config: Config) -> dict[int, int]:
    """Fill every partition with its initial rows, through the buffer; checksums of the files."""
    partitioning, record = dataset.partitioning, record_of(config.optimizer.rows.name, config.model.dim)
    for k in range(partitioning.partitions):
        start = buffer.adopt(k)
        rows = buffer.rows[start:start + partitioning.rows]
        rows[:] = 0
        _fill(rows[:partitioning.size(k)], record, config, k)
        buffer.enter([])
    return buffer.flush()


def _fill(rows: np.ndarray, record: RecordLayout, config: Config, partition: int) -> None:
    generator = generator_for(config.training.seed, "nodes", worker=partition)
    block = 1 << 16
    for start in range(0, len(rows), block):
        part = rows[start:start + block]
        part[:, record.values] = initial_values(generator, len(part), record.dim, config.model.decoder)


def load_dense(parts: Parts, state_folder: Any, state: State) -> None:
    parts.load_dense(load_file(state_folder / "dense.safetensors"))
    parts.buffer.expect(state.checksums)
