"""What link prediction needs. Its buffers hold learned rows, and features where an encoder reads them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from marius_lite.config import exact_links, lanes
from marius_lite.config.balance import balances, can_balance, meetings_bytes
from marius_lite.config.decoders import DECODERS
from marius_lite.config.encoder_memory import EncoderSizes, encoder_bytes, encoder_host_bytes_for_device, resident
from marius_lite.config.facts import Facts
from marius_lite.config.inputs import input_stride, input_width, inputs_of, tables
from marius_lite.config.memory import (
    CLASS_BYTES,
    EDGE_BYTES,
    KEPT_BYTES,
    LOG_Q_BYTES,
    ORDER_BYTES,
    MemoryPlan,
    advice,
    batch_places,
    check_capacity_fits,
    evaluation_bytes,
    host_bytes_for_device,
    largest_window,
    slot_bytes,
    workspace_bytes,
)
from marius_lite.config.model_sections import drawn_by_degree
from marius_lite.config.planning import Resolved, Rules, encoder_described
from marius_lite.config.schedule import REGULARIZER_TRIED
from marius_lite.config.schema import Config
from marius_lite.config.weight_power import WEIGHT_BYTES, power_of
from marius_lite.errors import UserError
from marius_lite.ordering.lanes import LANE_ORDERINGS, LANES_BY_EDGES, make_lanes_plan, most_in_match, spare_slots_of_lane
from marius_lite.ordering.plan import ORDERINGS, check, choose, make_plan, needs_all, spare_slots
from marius_lite.sizes import format_bytes
from marius_lite.types import EpochPlan

CAPACITIES_COMPARED = 8
ROWS_MAX = 2**32 - 1  # edges hold rows of the buffer as uint32
ROUNDING_WAYS = ("amx", "avx512_bf16")
"""The values of ``training.scoring`` that round what is multiplied to bfloat16."""
DRAWN_BYTES = WEIGHT_BYTES + 4
"""Bytes of an edge while a window is drawn by weights: its weight, and a place that was drawn."""
EDGE_SHARE = 0.25  # of the memory, at most, for the windows of edges


class LinkPlanning:
    """The planning of link prediction. See `config.planning.Planning`."""

    unit: Literal["edges", "nodes"] = "edges"
    metrics = ("mrr", "hits@1", "hits@3", "hits@10", "mean_rank")
    losses = ("softmax", "logistic", "margin")
    edge_bytes_read = KEPT_BYTES  # an edge is kept as it is stored

    def rules(self, config: Config) -> Rules:
        decoder, weight, way = config.model.decoder, config.loss.relation_weight, config.training.scoring
        able = [name for name, each in DECODERS.items() if each.asks_for_relations]
        inner = [name for name, each in DECODERS.items() if each.inner]
        least = 4 if DECODERS[decoder].even else 3
        return [
            (
                config.sampling.refresh_epochs > 1,
                f"`sampling.refresh_epochs` is {config.sampling.refresh_epochs}, but `task` is link_prediction, where every "
                "epoch draws anew so far: leave it out",
            ),
            *exact_links.rules(config),
            (
                config.sampling.lists == "disk",
                "`sampling.lists` is disk, but `task` is link_prediction, whose lists come with their partitions: leave it out",
            ),
            (
                config.model.biases and decoder not in inner,
                f"`model.biases` is true, but scores of decoder {decoder} are no inner products: use one of {', '.join(inner)}, "
                "or `model.biases: false`",
            ),
            (
                config.negatives.balance is True and not can_balance(config),
                f"`negatives.balance` is true, which is for loss softmax and decoders {', '.join(inner)}, but found loss "
                f"{config.loss.name} and decoder {decoder}: leave it out",
            ),
            (
                config.has_biases and config.optimizer.rows.name == "row_adagrad",
                "`model.biases` is true, but `optimizer.rows.name` is row_adagrad: it has one rate for all numbers of a row, "
                "which biases would set for the others; use adagrad, or `model.biases: false`",
            ),
            (
                config.has_biases and config.optimizer.rows.name == "sgd",
                "`model.biases` is true, but `optimizer.rows.name` is sgd: scores have 10 times the biases, so its steps would "
                "change them 100 times as fast as what else is in a row; use adagrad, or `model.biases: false`",
            ),
            (
                config.model.biases and config.model.dim < least,
                f"`model.dim` is {config.model.dim}, of which `model.biases` takes two: choose {least} or more",
            ),
            (
                weight > 0 and decoder not in able,
                f"`loss.relation_weight` is {weight}, but decoder {decoder} cannot rank relations: use one of "
                f"{', '.join(able)}, or remove it",
            ),
            (
                way in ROUNDING_WAYS and config.training.precision != "mixed",
                f"`training.scoring` is {way}, which is for `training.precision` mixed, found {config.training.precision}: "
                "change one of them, or leave `training.scoring` out",
            ),
            (config.loss.class_weights != "none", f"`loss.class_weights` is set, but `task` is {config.task}: leave it out"),
            (
                config.storage.ordering not in ("auto", *ORDERINGS, *LANE_ORDERINGS),
                f"`storage.ordering` is {config.storage.ordering}, but `task` is {config.task}: leave it out",
            ),
        ]

    def metric(self, facts: Facts) -> str:
        return self.metrics[0]

    def loss(self, facts: Facts) -> str:
        return self.losses[0]

    def check(self, config: Config, facts: Facts) -> None:
        if not self.items(facts):
            raise UserError(
                "the dataset has no training edges: `preprocess` it with a larger first fraction of --split, or without"
            )
        lanes.check(config, facts)

    def resolve(self, config: Config, facts: Facts, budget: int) -> Resolved:
        if config.sampling.scope == "exact":
            return _exact(config, facts, budget)
        if config.storage.capacity != "auto" or needs_all(config.storage.ordering):
            capacity = facts.partitions if config.storage.capacity == "auto" else config.storage.capacity
            ordering = _ordering(config, facts, capacity)
            check("comet" if ordering in LANE_ORDERINGS else ordering, facts.partitions, capacity)
            memory = _memory(config, facts, capacity, budget)
            check_capacity_fits(config, capacity, memory, budget)
        else:
            capacity, memory = _best_capacity(config, facts, budget)
        _check_rows(f"`storage.capacity` {capacity} makes a buffer of", memory.buffer // input_stride(config, facts), "capacity")
        return Resolved(capacity, _ordering(config, facts, capacity), memory)

    def plan(self, config: Config, counts: npt.NDArray[np.int64], training: int, epoch: int) -> EpochPlan:
        storage = config.storage
        seen = len(counts) if config.sampling.scope == "exact" else int(storage.capacity)
        return _plan_of(config, storage.ordering, counts, seen, epoch)

    def encoder_sizes(self, config: Config, facts: Facts, capacity: int) -> EncoderSizes:
        return link_sizes(config, facts, capacity)

    def seeds(self, config: Config, batch: int, nodes: int) -> int:
        return batch_places(config, nodes)

    def items(self, facts: Facts) -> int:
        return int(facts.bucket_counts.sum())

    def unused(self, labels: bool) -> list[str]:
        return ["nodes have labels, which link prediction does not use (`task: node_classification` does)"] if labels else []

    def doubtful(self, config: Config, relations: int) -> list[str]:
        negatives, regularizer, patience = config.negatives, config.regularizer, config.optimizer.schedule.patience
        said = {
            f"`model.decoder` is dot, which scores all {relations:,} relations of the dataset alike: distmult, complex, "
            "transe or rotate tell them apart": config.model.decoder == "dot" and relations > 1,
            f"`negatives.degree_fraction` is {negatives.degree_fraction}, which is none of the {negatives.count} negatives of a "
            "chunk: all nodes are drawn alike": negatives.count != "all"
            and negatives.degree_fraction > 0
            and not drawn_by_degree(negatives.count, negatives.degree_fraction),
            f"`training.early_stopping` is {config.training.early_stopping}, so training stops before learning rates drop: with "
            f"`regularizer.decay` below 1 they do so after {max(REGULARIZER_TRIED)} plateaus of {patience} evaluations": 0
            < config.training.early_stopping
            <= max(REGULARIZER_TRIED) * patience
            and regularizer.decay < 1
            and regularizer.is_on
            and config.evaluation.every_epochs != 0,
        }
        return [line for line, so in said.items() if so]

    def described(self, config: Config) -> dict[str, Any]:
        return {**encoder_described(config), "decoder": config.model.decoder, "dim": config.model.dim}

    def reduces_graph(self, config: Config) -> bool:
        return not config.encodes

    def has_ways(self, config: Config) -> bool:
        """Return whether there is an encoder, on the CPU, in one lane."""
        return config.encodes and not (config.propagates or config.scale.ranks > 1) and config.device == "cpu"

    def out_width(self, config: Config, facts: Facts) -> int:
        return config.model.dim


def link_sizes(config: Config, facts: Facts, capacity: int) -> EncoderSizes:
    """Return the sizes of link prediction's batches. Every place of a batch is a seed."""
    graph = resident(facts, capacity)
    return EncoderSizes(
        batch_places(config, graph.nodes),
        graph,
        input_width(config, facts),
        config.model.dim,
        input_stride(config, facts),
        tables(config, facts),
    )


def _exact(config: Config, facts: Facts, budget: int) -> Resolved:
    """Return what is resolved where neighbours are drawn among all nodes."""
    all_of_them = facts.partitions
    _check_rows("`sampling.scope` is exact, and the dataset has", all_of_them * facts.rows_per_partition, "dataset")
    whole, sizes = _memory(config, facts, all_of_them, budget), link_sizes(config, facts, all_of_them)
    return exact_links.exact_links(config, facts, budget, whole, sizes)


def _check_rows(what: str, rows: int, smaller: str) -> None:
    if rows > ROWS_MAX:
        raise UserError(f"{what} {rows} rows, an edge can name {ROWS_MAX}: give a smaller {smaller}")


def _best_capacity(config: Config, facts: Facts, budget: int) -> tuple[int, MemoryPlan]:
    """Return the capacity and its memory: all partitions where they fit, else the one that loads least of the largest that fit.

    Raises UserError where none fits.
    """
    fitting: list[tuple[int, int, MemoryPlan]] = []
    most = facts.partitions if config.scale.ranks == 1 else most_in_match(config.scale.ranks, facts.partitions)
    for capacity in range(most, min(2, facts.partitions) - 1, -1):
        memory = _memory(config, facts, capacity, budget)
        if memory.total <= budget:
            fitting.append((_loads(config, facts, capacity), capacity, memory))
            if capacity == most or len(fitting) == CAPACITIES_COMPARED:
                break
    if not fitting:
        raise UserError(
            f"`storage.memory` is {format_bytes(budget)}, but two resident partitions and their batches need "
            f"{format_bytes(memory.total)} ({memory.told()}): raise it, or {advice(config, memory)}"
        )
    _, capacity, memory = min(fitting, key=lambda each: (each[0], -each[1]))
    return capacity, memory


def _loads(config: Config, facts: Facts, capacity: int) -> int:
    """Return how many partitions the first epoch loads."""
    return sum(len(step.load) for step in _plan(config, facts, capacity).steps)


def _plan(config: Config, facts: Facts, capacity: int) -> EpochPlan:
    """Return the plan of the first epoch."""
    return _plan_of(config, _ordering(config, facts, capacity), facts.bucket_counts, capacity, 0)


def _plan_of(config: Config, ordering: str, counts: npt.NDArray[np.int64], capacity: int, epoch: int) -> EpochPlan:
    if ordering in LANE_ORDERINGS:
        return make_lanes_plan(config.scale.ranks, counts, capacity, config.training.seed, epoch, ordering)
    return make_plan(ordering, len(counts), capacity, config.training.seed, epoch)


def _ordering(config: Config, facts: Facts, capacity: int) -> str:
    if config.storage.ordering != "auto":
        return config.storage.ordering
    return LANES_BY_EDGES if config.scale.ranks > 1 else choose(facts.partitions, capacity)


def _memory(config: Config, facts: Facts, capacity: int, budget: int) -> MemoryPlan:
    """Return the memory with ``capacity`` partitions resident. ``budget``: bytes, of which the windows may take a share."""
    ordering = _ordering(config, facts, capacity)
    if not config.storage.prefetch:
        spare = 0
    elif ordering in LANE_ORDERINGS:
        spare = spare_slots_of_lane(config.scale.ranks, facts.partitions, capacity)
    else:
        spare = spare_slots(ordering, facts.partitions, capacity)
    slots = min(capacity + spare, facts.partitions)
    one = slot_bytes(facts.rows_per_partition, input_stride(config, facts))
    window, workspace = _window_edges(config, facts, capacity, budget), _workspace(config, facts, capacity)
    if config.negatives.log_q:
        workspace += slots * slot_bytes(facts.rows_per_partition, LOG_Q_BYTES)
    if balances(config) and not needs_all(ordering):
        workspace += slots * slot_bytes(facts.rows_per_partition, CLASS_BYTES)
        workspace += meetings_bytes(config, resident(facts, capacity).nodes)
    weighed = WEIGHT_BYTES if power_of(config) else 0
    plan = MemoryPlan(
        slots=slots,
        spare=slots - capacity,
        slot_bytes=one,
        window_edges=window,
        buffer=slots * one,
        edges=window * window_edge_bytes(config) + slots * facts.lists + facts.merging,
        workspace=workspace,
        evaluation=evaluation_bytes(config, facts.nodes),
        orders_ahead=weighed > 0,
    )
    reads_again = not needs_all(ordering) and config.training.replay == 1
    kept = plan.keeping(int(facts.bucket_counts.sum()), budget, KEPT_BYTES + weighed) if reads_again else plan
    return kept if weighed else kept.ordering_ahead(budget)


def window_edge_bytes(config: Config) -> int:
    """Return the bytes of an edge in a window. Where edges are drawn by weights, their order is always made ahead, and corrected
    scores (`negatives.log_q`) need the ends that were drawn, one side at a time."""
    if not power_of(config):
        return EDGE_BYTES
    return EDGE_BYTES + ORDER_BYTES + DRAWN_BYTES + (ORDER_BYTES if config.negatives.log_q else 0)


def _window_edges(config: Config, facts: Facts, capacity: int, budget: int) -> int:
    """Return the edges of a window: those of the largest step where they fit, and no fewer than the largest bucket has."""
    total, largest_bucket = int(facts.bucket_counts.sum()), int(facts.bucket_counts.max(initial=0))
    if config.storage.window_edges != "auto":
        return max(largest_bucket, config.storage.window_edges, 1)
    largest_step = largest_window([step.buckets for step in _plan(config, facts, capacity).steps], facts.bucket_counts)
    return max(
        largest_bucket, min(total, int(1.2 * largest_step) + 1024, int(budget * EDGE_SHARE) // window_edge_bytes(config)), 1
    )


def _workspace(config: Config, facts: Facts, capacity: int) -> int:
    """Return the bytes that a batch takes on the host, an encoder's part included."""
    nodes = resident(facts, capacity).nodes
    if config.device != "cpu":
        if facts.lists:
            return encoder_host_bytes_for_device(config, link_sizes(config, facts, capacity))
        return host_bytes_for_device(config, facts.stride, nodes)
    threads = facts.threads if config.training.threads == "auto" else config.training.threads
    workspace = workspace_bytes(config, facts.relations, nodes, threads)
    if facts.lists:
        workspace += encoder_bytes(config, link_sizes(config, facts, capacity), inputs_of(config, facts) != "features")
    return workspace
