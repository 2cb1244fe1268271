"""Turn every ``auto`` into a value, for one dataset on one machine. All facts are given; nothing is looked up."""

from __future__ import annotations

from typing import NamedTuple

from marius_lite.config import lanes
from marius_lite.config.balance import balances
from marius_lite.config.clusters import as_batches
from marius_lite.config.edge_dropout import edge_dropout
from marius_lite.config.encoder_memory import encoder_device_bytes, encoder_graph_bytes, fanouts_of, resident, samples_on_device
from marius_lite.config.evaluation_share import with_share
from marius_lite.config.facts import Facts
from marius_lite.config.first_negatives import first_epochs
from marius_lite.config.inputs import first_hops, input_dropout, inputs_of
from marius_lite.config.layerwise import as_trained, layer_epochs
from marius_lite.config.memory import MemoryPlan, check_device_memory, device_bytes, graph_bytes, largest_batch, sent_bytes
from marius_lite.config.planning import Resolved, planning_of
from marius_lite.config.regularizer import regularizer_weight
from marius_lite.config.schema import Config
from marius_lite.config.weight_power import power_of
from marius_lite.errors import UserError


def resolve(config: Config, facts: Facts) -> tuple[Config, MemoryPlan]:
    """Return the configuration without ``auto``, and the plan of its memory.

    Raises UserError where dataset, memory and capacity do not fit together.
    """
    config = _with_evaluation(config, facts).model_copy(update={"device": _device(config, facts)})
    config = config.model_copy(update={"sampling": config.sampling.model_copy(update={"device": _sampling_device(config)})})
    of_lane, _ = lanes.of_lane(config, facts)
    budget = config.storage.memory if config.storage.memory != "auto" else of_lane
    planning = planning_of(config)
    planning.check(config, facts)
    config = as_batches(config, facts)
    found = planning.resolve(*as_trained(config, facts), budget)
    _check_device(config, facts, found.capacity, found.memory)
    return _filled(config, facts, found, budget), found.memory


def device_needs(config: Config, facts: Facts, capacity: int, memory: MemoryPlan) -> dict[str, int]:
    """Return the bytes needed on the device, by purpose. Empty where the CPU trains."""
    if config.device == "cpu":
        return {}
    cached = memory.buffer if config.storage.device_path == "bulk" else config.storage.device_cache
    return batch_needs(config, facts, capacity, cached).bytes


class BatchNeeds(NamedTuple):
    """What batches take on the device: ``bytes`` by purpose; ``rows`` and bytes of ids (``packet``) that room is made for at
    once, where they are known before a batch is sampled; bytes of ``graphs``, which are made where there is room for them."""

    bytes: dict[str, int]
    rows: int = 0
    packet: int = 0
    graphs: int = 0


def batch_needs(config: Config, facts: Facts, capacity: int, cached: int) -> BatchNeeds:
    """Return what batches need on the device, beside the bytes of rows that are ``cached`` there."""
    config, facts = as_trained(config, facts)
    planning, nodes = planning_of(config), resident(facts, capacity).nodes
    batch = largest_batch(config) if planning.unit == "edges" else config.training.batch_size
    if config.encodes:
        sizes = planning.encoder_sizes(config, facts, capacity)
        return BatchNeeds(encoder_device_bytes(config, sizes, cached), graphs=encoder_graph_bytes(config, sizes))
    rows = planning.seeds(config, batch, nodes)
    graphs = graph_bytes(config, nodes, facts.relations)
    needs = device_bytes(config, facts.stride, cached, nodes, facts.relations)
    return BatchNeeds(needs, rows, sent_bytes(batch, rows), graphs)


def _check_device(config: Config, facts: Facts, capacity: int, memory: MemoryPlan) -> None:
    if config.storage.device_memory != "auto" and config.device != "cpu":
        check_device_memory(device_needs(config, facts, capacity, memory), config.storage.device_memory)


def _with_evaluation(config: Config, facts: Facts) -> Config:
    """Return the configuration with the name of the evaluation's split, and with how often and how much is evaluated.

    Where the split is auto, and there is nothing to evaluate or no way to do it, nothing is evaluated.
    """
    settings = config.evaluation
    if facts.whole_graph_reason and settings.split != "auto" and settings.every_epochs:
        raise UserError(
            f"`evaluation.split` is {settings.split}, but `model.encoder` {config.model.encoder} "
            f"{facts.whole_graph_reason}: leave `evaluation.split` out, or take another encoder"
        )
    if settings.split == "auto":
        every = settings.every_epochs if facts.splits.get("valid") and not facts.whole_graph_reason else 0
        settings = settings.model_copy(update={"split": "valid", "every_epochs": every})
    elif settings.every_epochs and not facts.splits.get(settings.split):
        there = ", ".join(name for name, count in facts.splits.items() if count)
        raise UserError(
            f"`evaluation.split` is {settings.split}, but the dataset has {there}: "
            "choose one of them, or set `evaluation.every_epochs` to 0"
        )
    config = config.model_copy(update={"evaluation": settings})
    return config.model_copy(update={"evaluation": with_share(config, facts)})


def _filled(config: Config, facts: Facts, found: Resolved, budget: int) -> Config:
    """Return the configuration with a value for everything that shapes the work, down to the batches.

    So a resumed run does not depend on the memory that is free on that day.
    """

    def value(given: object, resolved: object) -> object:
        return resolved if given == "auto" else given

    planning, memory = planning_of(config), found.memory
    updates: dict[str, dict[str, object]] = {
        "training": {
            "precision": value(config.training.precision, "float32"),
            "threads": value(config.training.threads, lanes.of_lane(config, facts)[1]),
            "metric": value(config.training.metric, planning.metric(facts)),
            "weight_power": power_of(config),
            **({"layer_epochs": layer_epochs(config)} if config.trains_layerwise else {}),
        },
        "storage": {
            "memory": max(memory.total, budget),
            "capacity": found.capacity,
            "ordering": found.ordering,
            "window_edges": memory.window_edges,
        },
        "loss": {"name": value(config.loss.name, planning.loss(facts))},
        "sampling": {
            "fanouts": _fanouts(config),
            "scope": found.scope,
            "lists": found.lists,
            "edge_dropout": edge_dropout(config),
        },
        "model": {
            "inputs": inputs_of(config, facts),
            "input_dropout": input_dropout(config, facts),
            "weight_unit": value(config.model.weight_unit, 0.0),
        },
        "init": {"hops": first_hops(config, facts)},
        "regularizer": {"weight": regularizer_weight(config, facts)},
        "negatives": {
            "balance": config.task == "link_prediction" and balances(config),
            "first_epochs": first_epochs(config, facts, found.capacity),
        },
    }
    sections = {name: getattr(config, name).model_copy(update=change) for name, change in updates.items()}
    return config.model_copy(update=sections)


def _fanouts(config: Config) -> object:
    """Return the fanouts for each layer; none without an encoder. Where convolutions are not ``model.layers``, they
    take all neighbours in any case."""
    if config.model.encoder == "none":
        return ()
    return config.sampling.fanouts if config.model.reversible or config.propagates else fanouts_of(config)


def _device(config: Config, facts: Facts) -> str:
    """Return what trains. Raises UserError for a GPU where rows are learned that only the CPU can round."""
    kind, asked = config.storage.row_dtype, config.device
    for_cpu = kind != "float32" and inputs_of(config, facts) != "features"
    gpus = [f"`{key}`" for key, value in (("device", asked), ("sampling.device", config.sampling.device)) if "cuda" in value]
    if for_cpu and gpus:
        raise UserError(
            f"`storage.row_dtype` is {kind}, but {' and '.join(gpus)} is cuda: such rows are trained on the CPU so far: leave "
            f"{' and '.join(gpus)} out, or `storage.row_dtype`"
        )
    for_cpu = for_cpu or config.scale.ranks > 1 or bool(config.model.reversible)
    return ("cuda" if facts.cuda and not for_cpu else "cpu") if asked == "auto" else asked


def _sampling_device(config: Config) -> str:
    """Return what draws neighbours. ``auto`` stays where CPU and GPU are possible: the run then measures which is faster."""
    asked = config.sampling.device
    if asked == "cuda" and config.device == "cpu":
        raise UserError(
            "`sampling.device` is cuda, but `device` is cpu: only the CPU, or the GPU that trains, can draw "
            "neighbours: use `sampling.device: cpu`, or `device: cuda` where there is a GPU"
        )
    return asked if config.device != "cpu" and config.model.encoder != "none" and samples_on_device(config) else "cpu"
