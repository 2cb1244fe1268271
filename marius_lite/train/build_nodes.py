"""The wiring of node classification."""

from __future__ import annotations

from functools import partial

import numpy as np

from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.schema import Config
from marius_lite.device.accelerator import check_device
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.fanouts import hop_fanouts
from marius_lite.metrics import MetricsLog
from marius_lite.nn.classifier import NodeClassifier
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.optim.rows import ROW_OPTIMIZERS, RowUpdater
from marius_lite.sampling.neighbours import NeighbourLists
from marius_lite.sampling.node_batches import TrainingNodes
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import RowTable
from marius_lite.train.classification import classify_split
from marius_lite.train.encoders import initial_encoder, weight_decays
from marius_lite.train.first_rows import initialise
from marius_lite.train.node_work import NodeRows, NodeWork
from marius_lite.train.parts import Parts


def build_nodes(run: RunFolder, dataset: Dataset, config: Config, memory: MemoryPlan, metrics: MetricsLog,
                table: RowTable | None, show_progress: bool) -> Parts:
    """Every part of a run over a dataset's features and the learned rows in ``table``, of what there is."""
    device = check_device(config.device)
    model = make_classifier(dataset, config).to(device)
    optimizer = DenseOptimizer(config.optimizer.dense.name, model, config.optimizer.dense.lr, weight_decays(config))
    rows = node_rows(dataset, config, memory, table)
    adjacency = dataset.adjacency
    assert adjacency is not None
    score = partial(classify_split, dataset, model, config, table, config.evaluation.split, run.path)
    lists = NeighbourLists(adjacency, degrees=config.model.encoder == "gcn", weighted=config.sampling.weighted)
    work = NodeWork(config, dataset.partitioning, training_nodes(dataset), dataset.manifest.training_partitions or 1, rows,
                    lists, hop_fanouts(config, dataset), model, optimizer, device,
                    partial(initialise, rows.learned, config) if rows.learned else dict, score)
    return Parts(run, config, work, model, optimizer, metrics, show_progress)


def make_classifier(dataset: Dataset, config: Config) -> NodeClassifier:
    """The model with its initial weights, which follow from the run's seed, on the CPU."""
    settings, labels = config.model, dataset.labels
    assert labels is not None
    width = 0
    if settings.inputs != "embeddings":
        assert dataset.features is not None
        width += dataset.features.width
    if settings.inputs != "features":
        width += settings.dim
    encoder = initial_encoder(config, width, labels.classes, dataset.manifest.relations)
    return NodeClassifier(encoder, settings.dropout, settings.normalize_features)


def node_rows(dataset: Dataset, config: Config, memory: MemoryPlan, table: RowTable | None) -> NodeRows:
    """Buffers of ``memory.slots`` partitions for what the encoder begins with."""
    storage, rows = config.storage, config.optimizer.rows

    def buffer(of: RowTable) -> PartitionBuffer:
        return PartitionBuffer(of, memory.slots, threads=storage.io_threads, direct=storage.direct_io)

    stored, held = dataset.features if config.model.inputs != "embeddings" else None, None
    if stored is not None:
        held = buffer(stored.table)
        held.expect(stored.checksums)
    learned = buffer(table) if table else None
    updater = RowUpdater(ROW_OPTIMIZERS[rows.name](), config.model.dim, rows.lr)
    apply = partial(updater.apply, learned.rows) if learned else lambda _: None
    return NodeRows(stored, held, learned, config.model.dim, apply, dataset.partitioning)


def training_nodes(dataset: Dataset) -> TrainingNodes:
    """Ids and labels of the training nodes."""
    ids, labels = dataset.node_split("train"), dataset.labels
    assert labels is not None
    rows = dataset.partitioning.rows
    known = [labels.read(k)[ids[(ids >= k * rows) & (ids < (k + 1) * rows)] - k * rows] for k in np.unique(ids // rows).tolist()]
    if not len(ids):
        raise UserError(f"{dataset.path}: no node is for training: preprocess with --train-nodes or --node-split")
    return TrainingNodes(ids, np.concatenate(known).astype(np.int64), rows)
