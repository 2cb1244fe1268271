"""The wiring of link prediction."""

from __future__ import annotations

import sys
from functools import partial

from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.schema import Config
from marius_lite.device import verified
from marius_lite.device.accelerator import Accelerator, check_device, open_accelerator
from marius_lite.device.chooser import expected_loads
from marius_lite.device.cuda import open_device_rows
from marius_lite.device.host import HostGather
from marius_lite.device.rows import DeviceRows, RowUpdate
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.fanouts import hop_fanouts
from marius_lite.metrics import MetricsLog
from marius_lite.nn.model import LinkPredictionModel
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.optim.rows import ROW_OPTIMIZERS, RowUpdater
from marius_lite.ordering.plan import make_plan
from marius_lite.sampling.negatives import NegativeSampler
from marius_lite.sampling.neighbours import NeighbourLists
from marius_lite.sampling.windows import WindowReader
from marius_lite.seeds import generator_for
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import RowTable
from marius_lite.train.encoded_link_work import EncodedLinkWork
from marius_lite.train.encoders import initial_encoder, weight_decays
from marius_lite.train.evaluation import evaluate_trained
from marius_lite.train.first_rows import initialise
from marius_lite.train.link_work import LinkWork
from marius_lite.train.parts import Parts


def build_links(run: RunFolder, dataset: Dataset, config: Config, memory: MemoryPlan, metrics: MetricsLog,
                table: RowTable, show_progress: bool) -> Parts:
    """Every part of a run over the rows in ``table``."""
    model_config, threads = config.model, int(config.training.threads)
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
    optimizer = DenseOptimizer(config.optimizer.dense.name, model, config.optimizer.dense.lr, weight_decays(config))
    arguments = (
        config, dataset.partitioning, edges, buffer, WindowReader(edges, memory.window_edges), memory.window_edges, sampler,
        gather, partial(updater.apply, buffer.rows), on_device, model, optimizer, partial(initialise, buffer, config),
        partial(evaluate_trained, dataset, buffer, model, config, run.path))
    if model.encoder is None:
        return Parts(run, config, LinkWork(*arguments), model, optimizer, metrics, show_progress)
    adjacency = dataset.adjacency
    assert adjacency is not None
    lists = NeighbourLists(adjacency, degrees=config.model.encoder == "gcn", weighted=config.sampling.weighted)
    work = EncodedLinkWork(model.encoder, lists, hop_fanouts(config, dataset), *arguments)
    return Parts(run, config, work, model, optimizer, metrics, show_progress)


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
    encoder = None
    if model.encoder != "none":
        encoder = initial_encoder(config, model.dim, model.dim, dataset.manifest.relations)
    options = {"logistic": {"temperature": loss.adversarial_temperature}, "margin": {"margin": loss.margin}}
    return LinkPredictionModel(
        model.decoder, dataset.manifest.relations, model.dim, generator_for(config.training.seed, "relations"),
        reciprocal=model.reciprocal, loss=loss.name, loss_options=options.get(loss.name), dropout=model.dropout,
        n3_weight=config.regularizer.weight if config.regularizer.name == "n3" else 0.0, encoder=encoder)
