"""The wiring of link prediction."""

from __future__ import annotations

from functools import partial
from math import prod

from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.config.encoder_memory import encoder_device_bytes, resident
from marius_lite.config.memory import MemoryPlan, batch_places, device_bytes, negatives_shape, packet_bytes
from marius_lite.config.resolve_nodes import link_sizes
from marius_lite.config.schema import Config
from marius_lite.device.accelerator import Accelerator, check_device, open_accelerator
from marius_lite.device.batches import DeviceBatches
from marius_lite.device.chooser import expected_loads
from marius_lite.device.cuda import Needs, open_batches
from marius_lite.device.host import HostGather
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.facts import facts_of
from marius_lite.metrics import MetricsLog
from marius_lite.nn.decoders import decoder_class
from marius_lite.nn.model import LinkPredictionModel
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.ordering.plan import make_plan
from marius_lite.sampling.every_resident import EveryResident
from marius_lite.sampling.negatives import NegativeSampler, Sampler
from marius_lite.sampling.windows import WindowReader
from marius_lite.seeds import generator_for
from marius_lite.storage.table import RowTable
from marius_lite.train.build_nodes import host_tables, node_rows, rated
from marius_lite.train.encoded_link_work import EncodedLinkWork
from marius_lite.train.encoders import initial_encoder, input_width, normalized_columns, weight_decays
from marius_lite.train.evaluation import evaluate_trained
from marius_lite.train.first_rows import draw_of, initialise
from marius_lite.train.link_work import LinkWork
from marius_lite.train.neighbourhoods import open_neighbourhoods
from marius_lite.train.node_work import NodeRows
from marius_lite.train.parts import Parts


def build_links(run: RunFolder, dataset: Dataset, config: Config, memory: MemoryPlan, metrics: MetricsLog,
                table: RowTable | None) -> Parts:
    """Every part of a run over the learned rows in ``table`` and, for an encoder, a dataset's features, of what there is."""
    device = check_device(config.device)
    edges = dataset.edges("train")
    model = make_model(dataset, config).to(device)
    rows = node_rows(dataset, config, memory, table)
    buffer = rows.first
    ring = config.training.staleness + 2 if config.training.staleness else 1
    gather = HostGather(buffer.rows, config.model.dim, ring, int(config.training.threads))
    accelerator = open_accelerator(device)
    try:
        on_device = rows_on_device(accelerator, dataset, rows, config) if accelerator else None
    except BaseException:
        for each in rows.buffers:
            each.close()
        raise
    sampler = make_sampler(config)
    dense = config.optimizer.dense
    optimizer = DenseOptimizer(dense.name, model, dense.lr, weight_decays(config, model.encoder), dense.clip)
    arguments = (
        config, dataset.partitioning, edges, buffer, WindowReader(edges, memory.window_edges), memory.window_edges, sampler,
        gather, rows.apply, on_device, model, optimizer, partial(initialise, buffer, config) if rows.learned else dict,
        partial(evaluate_trained, dataset, buffer, model, config, run.path))
    rates = rated(optimizer, rows, on_device)
    if model.encoder is None:
        return Parts(run, config, LinkWork(*arguments), model, optimizer, rates, metrics, model)
    work = EncodedLinkWork(model.encoder, open_neighbourhoods(accelerator, dataset, config), rows,
                           normalized_columns(dataset, config), *arguments)
    return Parts(run, config, work, model, optimizer, rates, metrics, model)


def make_sampler(config: Config) -> Sampler:
    negatives, seed = config.negatives, config.training.seed
    if negatives.count == "all":
        return EveryResident(seed, negatives.mask_known)
    return NegativeSampler(negatives.count, negatives.chunks, negatives.degree_fraction, seed, negatives.mask_known)


def rows_on_device(accelerator: Accelerator, dataset: Dataset, rows: NodeRows, config: Config) -> DeviceBatches:
    """Features and learned rows, of what there is, on a GPU; says which way they take."""
    storage, batch = config.storage, config.training.batch_size
    facts = facts_of(dataset, config, cuda=True)
    here = resident(facts, int(storage.capacity)).nodes
    plan = make_plan(storage.ordering, dataset.partitioning.partitions, int(storage.capacity), config.training.seed, 0)
    loads = expected_loads(plan, dataset.edges("train").counts, dataset.partitioning.rows, batch,
                           prod(negatives_shape(config, here)))
    if config.model.encoder == "none":
        places = batch_places(config, here)
        needs = Needs(device_bytes(config, rows.first.table.stride, 0, here), places, packet_bytes(batch, places))
    else:
        sizes = link_sizes(config, facts, int(storage.capacity))
        needs = Needs(encoder_device_bytes(config, sizes, 0))
    return open_batches(accelerator, config, host_tables(rows, config), needs, loads)


def make_model(dataset: Dataset, config: Config) -> LinkPredictionModel:
    """The model with its initial relations, on the CPU."""
    model, loss = config.model, config.loss
    encoder = None
    if model.encoder != "none":
        encoder = initial_encoder(config, input_width(dataset, config), model.dim, dataset.manifest.relations)
    options = {"logistic": {"margin": loss.offset, "temperature": loss.adversarial_temperature},
               "margin": {"margin": loss.margin}}
    return LinkPredictionModel(
        model.decoder, dataset.manifest.relations, model.dim, generator_for(config.training.seed, "relations"),
        reciprocal=model.reciprocal, loss=loss.name, loss_options=options.get(loss.name), dropout=model.dropout,
        n3_weight=config.regularizer.weight, relation_weight=loss.relation_weight,
        relation_draw=draw_of(config.init.relations, decoder_class(model.decoder).relation_draw(model.dim)), encoder=encoder)
