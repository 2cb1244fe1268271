"""Turn every ``auto`` into a value, for one dataset on one machine. Pure: the facts come in, nothing is looked up."""

from __future__ import annotations

from marius_lite.config.encoder_memory import (
    EncoderSizes,
    encoder_bytes,
    encoder_device_bytes,
    encoder_host_bytes_for_device,
    fanouts_of,
    resident,
    samples_on_device,
)
from marius_lite.config.evaluation_share import with_share
from marius_lite.config.facts import Facts
from marius_lite.config.memory import (
    EDGE_BYTES,
    LOG_Q_BYTES,
    SLOT_ROWS,
    MemoryPlan,
    advice,
    check_capacity_fits,
    check_device_memory,
    device_bytes,
    host_bytes_for_device,
    largest_window,
    slot_bytes,
    workspace_bytes,
)
from marius_lite.config.metric import METRICS, MULTI_LABEL
from marius_lite.config.resolve_nodes import (
    evaluation_bytes,
    input_stride,
    inputs_of,
    link_sizes,
    loss_of,
    node_sizes,
    resolve_nodes,
)
from marius_lite.config.schema import Config
from marius_lite.errors import UserError
from marius_lite.files import format_bytes
from marius_lite.ordering.plan import check, choose, make_plan, needs_all, spare_slots

CAPACITIES_COMPARED = 8
ROWS_MAX = 2**32 - 1  # edges hold rows of the buffer as uint32
EDGE_SHARE = 0.25  # of the memory, at most, for the windows of edges


def resolve(config: Config, facts: Facts) -> tuple[Config, MemoryPlan]:
    """Return the configuration without ``auto``, and its memory. Raises UserError where dataset, memory and capacity disagree."""
    config = _with_evaluation(config, facts).model_copy(update={"device": _device(config, facts)})
    config = config.model_copy(update={"sampling": config.sampling.model_copy(update={"device": _sampling_device(config)})})
    budget = config.storage.memory if config.storage.memory != "auto" else facts.available_memory // 2
    if facts.nodes_to_classify:
        capacity, memory = resolve_nodes(config, facts, facts.nodes_to_classify, budget)
        _check_device(config, facts, capacity, memory)
        return _filled(config, capacity, "node_classification", facts, memory, budget), memory
    if config.storage.capacity != "auto" or needs_all(config.storage.ordering):
        capacity = facts.partitions if config.storage.capacity == "auto" else config.storage.capacity
        check(_ordering(config, facts, capacity), facts.partitions, capacity)
        memory = _memory(config, facts, capacity, budget)
        check_capacity_fits(config, capacity, memory, budget)
    else:
        capacity, memory = _best_capacity(config, facts, budget)
    buffer_rows = memory.buffer // input_stride(config, facts)
    if buffer_rows > ROWS_MAX:
        raise UserError(f"`storage.capacity` {capacity} makes a buffer of {buffer_rows} rows, an edge can name {ROWS_MAX}: give "
                        "a smaller capacity")
    _check_device(config, facts, capacity, memory)
    return _filled(config, capacity, _ordering(config, facts, capacity), facts, memory, budget), memory


def device_needs(config: Config, facts: Facts, capacity: int, memory: MemoryPlan) -> dict[str, int]:
    """Bytes needed on the device, by purpose; nothing on the CPU."""
    if config.device == "cpu":
        return {}
    held = memory.buffer if config.storage.device_path == "bulk" else config.storage.device_cache
    if config.model.encoder == "none":
        return device_bytes(config, facts.stride, held, resident(facts, capacity).nodes)
    return encoder_device_bytes(config, _encoder_sizes(config, facts, capacity), held)


def _check_device(config: Config, facts: Facts, capacity: int, memory: MemoryPlan) -> None:
    if config.storage.device_memory != "auto" and config.device != "cpu":
        check_device_memory(device_needs(config, facts, capacity, memory), config.storage.device_memory)


def _encoder_sizes(config: Config, facts: Facts, capacity: int) -> EncoderSizes:
    if facts.nodes_to_classify:
        return node_sizes(config, facts, facts.nodes_to_classify, capacity)
    return link_sizes(config, facts, capacity)


def _with_evaluation(config: Config, facts: Facts) -> Config:
    """The evaluation split as a name; no evaluations where it was left open and there is nothing, or no way, to evaluate."""
    settings = config.evaluation
    if facts.why_whole and settings.split != "auto" and settings.every_epochs:
        raise UserError(f"`evaluation.split` is {settings.split}, but `model.encoder` {config.model.encoder} {facts.why_whole}: "
                        "leave `evaluation.split` out, or take another encoder")
    if settings.split == "auto":
        every = settings.every_epochs if "valid" in facts.splits and not facts.why_whole else 0
        settings = settings.model_copy(update={"split": "valid", "every_epochs": every})
    elif settings.every_epochs and settings.split not in facts.splits:
        raise UserError(f"`evaluation.split` is {settings.split}, but the dataset has {', '.join(facts.splits)}: "
                        "choose one of them, or set `evaluation.every_epochs` to 0")
    config = config.model_copy(update={"evaluation": settings})
    return config.model_copy(update={"evaluation": with_share(config, facts)})


def _best_capacity(config: Config, facts: Facts, budget: int) -> tuple[int, MemoryPlan]:
    """All partitions where they fit; else, of the largest capacities that fit, the one that loads least."""
    fitting: list[tuple[int, int, MemoryPlan]] = []
    for capacity in range(facts.partitions, min(2, facts.partitions) - 1, -1):
        memory = _memory(config, facts, capacity, budget)
        if memory.total <= budget:
            fitting.append((_loads(config, facts, capacity), capacity, memory))
            if capacity == facts.partitions or len(fitting) == CAPACITIES_COMPARED:
                break
    if not fitting:
        raise UserError(f"`storage.memory` is {format_bytes(budget)}, but two resident partitions and their batches need "
                        f"{format_bytes(memory.total)} ({memory.told()}): raise it, or {advice(config, memory)}")
    _, capacity, memory = min(fitting, key=lambda found: (found[0], -found[1]))
    return capacity, memory


def _loads(config: Config, facts: Facts, capacity: int) -> int:
    plan = make_plan(_ordering(config, facts, capacity), facts.partitions, capacity, config.training.seed, 0)
    return sum(len(step.load) for step in plan.steps)


def _ordering(config: Config, facts: Facts, capacity: int) -> str:
    return choose(facts.partitions, capacity) if config.storage.ordering == "auto" else config.storage.ordering


def _memory(config: Config, facts: Facts, capacity: int, budget: int) -> MemoryPlan:
    ordering = _ordering(config, facts, capacity)
    spare = spare_slots(ordering, facts.partitions, capacity) if config.storage.prefetch else 0
    slots = min(capacity + spare, facts.partitions)
    one = slot_bytes(facts.rows_per_partition, input_stride(config, facts))
    here = resident(facts, capacity)
    threads = facts.threads if config.training.threads == "auto" else config.training.threads
    workspace = workspace_bytes(config, facts.relations, here.nodes, threads)
    if config.device != "cpu":
        workspace = host_bytes_for_device(config, facts.stride, here.nodes)
    plan = make_plan(ordering, facts.partitions, capacity, config.training.seed, 0)
    total, largest_bucket = int(facts.bucket_counts.sum()), int(facts.bucket_counts.max(initial=0))
    largest_step = largest_window([step.buckets for step in plan.steps], facts.bucket_counts)
    asked = config.storage.window_edges
    wanted = asked if asked != "auto" else min(total, int(1.2 * largest_step) + 1024, int(budget * EDGE_SHARE) // EDGE_BYTES)
    window = max(largest_bucket, wanted, 1)
    if facts.lists and config.device != "cpu":
        workspace = encoder_host_bytes_for_device(config, _encoder_sizes(config, facts, capacity))
    elif facts.lists:
        workspace += encoder_bytes(config, link_sizes(config, facts, capacity), inputs_of(config, facts) != "features")
    if config.negatives.log_q:
        workspace += slots * -(-facts.rows_per_partition // SLOT_ROWS) * SLOT_ROWS * LOG_Q_BYTES
    return MemoryPlan(slots=slots, spare=slots - capacity, slot_bytes=one, window_edges=window, buffer=slots * one,
                      edges=window * EDGE_BYTES + slots * facts.lists, workspace=workspace,
                      evaluation=evaluation_bytes(config, facts.nodes))


def _filled(config: Config, capacity: int, ordering: str, facts: Facts, memory: MemoryPlan, budget: int) -> Config:
    """Everything that shapes the work, batches included, as a number: a resumed run must not depend on today's memory."""

    def value(given: object, resolved: object) -> object:
        return resolved if given == "auto" else given

    nodes = facts.nodes_to_classify
    updates: dict[str, dict[str, object]] = {
        "training": {"precision": value(config.training.precision, "float32"),
                     "threads": value(config.training.threads, facts.threads),
                     "metric": value(config.training.metric,
                                     MULTI_LABEL if nodes and nodes.multi_label else METRICS[config.task][0])},
        "storage": {"memory": max(memory.total, budget), "capacity": capacity, "ordering": ordering,
                    "window_edges": memory.window_edges},
        "loss": {"name": value(config.loss.name, loss_of(nodes) if nodes else "softmax")},
        "sampling": {"fanouts": fanouts_of(config) if config.model.encoder != "none" else ()},
        "model": {"inputs": inputs_of(config, facts)},
    }
    sections = {name: getattr(config, name).model_copy(update=change) for name, change in updates.items()}
    return config.model_copy(update=sections)


def _device(config: Config, facts: Facts) -> str:
    return ("cuda" if facts.cuda else "cpu") if config.device == "auto" else config.device


def _sampling_device(config: Config) -> str:
    """``auto`` stays where both are possible: it is measured while the run trains."""
    asked = config.sampling.device
    if asked == "cuda" and config.device == "cpu":
        raise UserError("`sampling.device` is cuda, but `device` is cpu: only the CPU, or the GPU that trains, can draw "
                        "neighbours: use `sampling.device: cpu`, or `device: cuda` where there is a GPU")
    return asked if config.device != "cpu" and config.model.encoder != "none" and samples_on_device(config) else "cpu"
