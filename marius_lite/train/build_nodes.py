"""The wiring of node classification."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy.typing as npt
import torch

from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.config.encoder_memory import encoder_device_bytes, reached
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.resolve_nodes import node_sizes
from marius_lite.config.schema import Config
from marius_lite.device.accelerator import Accelerator, check_device, open_accelerator
from marius_lite.device.batches import DeviceBatches
from marius_lite.device.chooser import node_loads
from marius_lite.device.cuda import HostTable, Needs, open_batches
from marius_lite.device.rows import RowUpdate
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.facts import facts_of
from marius_lite.metrics import MetricsLog
from marius_lite.nn.classifier import NodeClassifier
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.optim.rows import ROW_OPTIMIZERS, RowUpdater
from marius_lite.optim.schedule import Rated
from marius_lite.ordering.plan import make_node_plan
from marius_lite.sampling.node_batches import TrainingNodes
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import RowTable
from marius_lite.train.classification import blocks, by_partition, classify_split
from marius_lite.train.encoders import initial_encoder, input_width, normalized_columns, weight_decays
from marius_lite.train.first_rows import initialise
from marius_lite.train.labelling import labelling, labelling_of
from marius_lite.train.neighbourhoods import open_neighbourhoods
from marius_lite.train.node_work import NodeRows, NodeWork
from marius_lite.train.parts import Parts


def build_nodes(run: RunFolder, dataset: Dataset, config: Config, memory: MemoryPlan, metrics: MetricsLog,
                table: RowTable | None) -> Parts:
    """Every part of a run over a dataset's features and the learned rows in ``table``, of what there is."""
    device = check_device(config.device)
    training = training_nodes(dataset)
    model = make_classifier(dataset, config, training).to(device)
    dense = config.optimizer.dense
    optimizer = DenseOptimizer(dense.name, model, dense.lr, weight_decays(config, model.encoder), dense.clip)
    rows = node_rows(dataset, config, memory, table)
    accelerator = open_accelerator(device)
    try:
        on_device = rows_on_device(accelerator, dataset, rows, training, config) if accelerator else None
    except BaseException:
        for buffer in rows.buffers:
            buffer.close()
        raise
    score = partial(classify_split, dataset, model, config, config.evaluation.split, run.path)
    work = NodeWork(config, dataset.partitioning, training, dataset.manifest.training_partitions or 1, rows,
                    open_neighbourhoods(accelerator, dataset, config), model, optimizer, on_device,
                    partial(initialise, rows.learned, config) if rows.learned else dict, score)
    return Parts(run, config, work, model, optimizer, rated(optimizer, rows, on_device), metrics)


def rows_on_device(accelerator: Accelerator, dataset: Dataset, rows: NodeRows, training: TrainingNodes,
                   config: Config) -> DeviceBatches:
    """Features and learned rows, of what there is, on a GPU; says which way they take."""
    storage, partitioning = config.storage, dataset.partitioning
    facts = facts_of(dataset, config, cuda=True)
    nodes = facts.nodes_to_classify
    assert nodes is not None
    sizes = node_sizes(config, facts, nodes, int(storage.capacity))
    plan = make_node_plan(partitioning.partitions, int(storage.capacity), nodes.training_partitions, config.training.seed, 0)
    most = reached(config, sizes.seeds, sizes.here)[0][-1]
    loads = node_loads(plan, [len(training.of(step.targets)) for step in plan.steps], partitioning.rows,
                       config.training.batch_size, most)
    return open_batches(accelerator, config, host_tables(rows, config), Needs(encoder_device_bytes(config, sizes, 0)), loads)


def rated(optimizer: DenseOptimizer, rows: NodeRows, on_device: DeviceBatches | None) -> list[Rated]:
    """All that has a learning rate in a run."""
    return [optimizer, rows.updater, *(on_device.tables if on_device else [])]


def host_tables(rows: NodeRows, config: Config) -> list[HostTable]:
    """A table for each of the rows' buffers."""
    settings, tables = config.optimizer.rows, []
    if rows.features and rows.stored:
        stored = rows.stored
        tables.append(HostTable(rows.features.rows, rows.features.slot_rows, stored.width, None, stored.type, stored.scales))
    if rows.learned:
        update = RowUpdate.of(settings.name, ROW_OPTIMIZERS[settings.name](), settings.lr, settings.clip)
        tables.append(HostTable(rows.learned.rows, rows.learned.slot_rows, rows.dim, update))
    return tables


def make_classifier(dataset: Dataset, config: Config, training: TrainingNodes | None = None) -> NodeClassifier:
    """The model with its initial weights, which follow from the run's seed, on the CPU; its loss counts classes as the
    ``training`` nodes have them, where it is to be trained."""
    settings, labels = config.model, dataset.labels
    assert labels is not None
    encoder = initial_encoder(config, input_width(dataset, config), labels.classes, dataset.manifest.relations)
    weights = class_weights(config, training.labels, labels.classes) if training else None
    return NodeClassifier(encoder, settings.dropout, normalized_columns(dataset, config), labelling(dataset).loss, weights)


def class_weights(config: Config, labels: npt.NDArray[Any], classes: int) -> torch.Tensor | None:
    """`loss.class_weights` as float32 (classes,); None where all classes count alike. ``labels``: as `TrainingNodes` has them."""
    asked = config.loss.class_weights
    if asked == "none":
        return None
    if asked == "balanced":
        return torch.from_numpy(labelling_of(labels).balanced(labels, classes)).float()
    return torch.tensor(asked, dtype=torch.float32)


def node_rows(dataset: Dataset, config: Config, memory: MemoryPlan, table: RowTable | None) -> NodeRows:
    """Buffers of ``memory.slots`` partitions for what the encoder begins with."""
    storage, rows = config.storage, config.optimizer.rows

    def buffer(of: RowTable) -> PartitionBuffer:
        return PartitionBuffer(of, memory.slots, threads=storage.io_threads, direct=storage.direct_io)

    stored, held = dataset.features if config.model.inputs != "embeddings" else None, None
    if stored is not None:
        held = buffer(stored.table)
    learned = buffer(table) if table else None
    updater = RowUpdater(ROW_OPTIMIZERS[rows.name](), config.model.dim, rows.lr, rows.clip)
    return NodeRows(stored, held, learned, config.model.dim, updater, dataset.partitioning)


def training_nodes(dataset: Dataset) -> TrainingNodes:
    """Ids and labels of the training nodes."""
    ids, labels = dataset.node_split("train"), dataset.labels
    assert labels is not None
    if not len(ids):
        raise UserError(f"{dataset.path}: no node is for training: preprocess with --train-nodes or --node-split")
    known, at = labels.room(len(ids)), 0
    for k, offsets in by_partition(ids, dataset.partitioning.rows):
        read = labels.reader(k)
        for part in blocks(offsets, labels.classes):
            known[at : at + len(part)] = read(part)
            at += len(part)
    return TrainingNodes(ids, known, dataset.partitioning.rows)
