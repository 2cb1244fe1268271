"""What node classification needs. Its memory holds features, learned rows and in-edges of the resident nodes."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from marius_lite.config import clusters, lanes
from marius_lite.config.directions import listed_counts
from marius_lite.config.encoder_memory import EncoderSizes, encoder_bytes, encoder_host_bytes_for_device, reached, resident
from marius_lite.config.exact_scope import needs_more, rows_memory, why_not_exact
from marius_lite.config.facts import Facts, NodeFacts
from marius_lite.config.inputs import input_stride, input_width, inputs_of, tables
from marius_lite.config.memory import MemoryPlan, advice, check_capacity_fits, degree_bytes, evaluation_bytes, slot_bytes
from marius_lite.config.packing import GROWING_SHARES, LISTS_AT_ONCE, growing_bytes
from marius_lite.config.planning import Resolved, Rules, encoder_described
from marius_lite.config.schema import Config
from marius_lite.config.sizes import known_dtype
from marius_lite.errors import UserError
from marius_lite.ordering.lanes import in_each_lane
from marius_lite.ordering.plan import check_node_capacity, make_node_plan
from marius_lite.sizes import format_bytes
from marius_lite.types import EpochPlan

ORDERING = "node_classification"
IN_MEMORY, ON_DISK = [("memory", 0)], [("disk", share) for share in GROWING_SHARES]
LISTS = {"auto": [*IN_MEMORY, *ON_DISK], "memory": IN_MEMORY, "disk": ON_DISK}
"""Where in-edge lists may be, and which part of the memory samples may take that grow in passes."""
DRAWN_IN_PASSES = 256
"""Bytes that are read in the time that it takes longer to draw an edge in passes over lists on disk, about: 0.3 microseconds."""


class NodePlanning:
    """The planning of node classification. See `config.planning.Planning`."""

    unit: Literal["edges", "nodes"] = "nodes"
    metrics = ("accuracy", "macro_f1", "micro_f1", "roc_auc", "average_precision", "log_loss")
    losses = ("cross_entropy", "binary_cross_entropy")
    edge_bytes_read = 0  # nodes are trained

    def rules(self, config: Config) -> Rules:
        return [
            (
                config.model.encoder == "none",
                f"`task` is {config.task}, but `model.encoder` is none: choose sage, gcn, gat, rgcn or package.module:Class",
            ),
            (
                config.loss.relation_weight > 0,
                f"`loss.relation_weight` is {config.loss.relation_weight}, but `task` is {config.task}: remove it",
            ),
            (
                config.training.replay != 1,
                f"`training.replay` is {config.training.replay}, but `task` is {config.task}: edges are trained in link "
                "prediction alone: leave it out",
            ),
            (
                config.sampling.lists == "disk" and config.sampling.scope == "resident",
                "`sampling.lists` is disk, but `sampling.scope` is resident, where lists come with their partitions: leave one "
                "of them out",
            ),
            (
                config.storage.ordering not in ("auto", ordering_of(config)),
                f"`storage.ordering` is {config.storage.ordering}, but `task` is {config.task}: leave it out",
            ),
        ]

    def metric(self, facts: Facts) -> str:
        """Return accuracy, or micro F1 where nodes may have several classes: to have all of them right is rare."""
        return "micro_f1" if _nodes(facts).multi_label else self.metrics[0]

    def loss(self, facts: Facts) -> str:
        return loss_of(_nodes(facts))

    def check(self, config: Config, facts: Facts) -> None:
        nodes, weights = _nodes(facts), config.loss.class_weights
        lanes.check_rows(config, inputs_of(config, facts))
        if config.loss.name not in ("auto", loss := loss_of(nodes)):
            several = "any number of classes" if nodes.multi_label else "one class"
            raise UserError(
                f"`loss.name` is {config.loss.name}, but nodes of the dataset have {several}: use {loss}, or leave it out"
            )
        if config.model.known_classes and nodes.multi_label:
            raise UserError(
                "`model.known_classes` is true, but nodes of the dataset have any number of classes: only one class is seen of "
                "others: set it to false"
            )
        if config.model.known_classes and nodes.training <= config.training.batch_size:
            raise UserError(
                f"`model.known_classes` is true, but a batch of {config.training.batch_size:,} has all {nodes.training:,} "
                "training nodes, whose classes are hidden from it: lower `training.batch_size`, for several batches an epoch"
            )
        if isinstance(weights, tuple) and len(weights) != nodes.classes:
            raise UserError(
                f"`loss.class_weights` has {len(weights)} numbers, the dataset has {nodes.classes} classes: give one for each"
            )

    def resolve(self, config: Config, facts: Facts, budget: int) -> Resolved:
        given, partitions = config.storage.capacity, facts.partitions
        if given != "auto":
            check_node_capacity(partitions, given)
        whole = given == partitions or (given == "auto" and node_memory(config, facts, partitions).total <= budget)
        exact = self._exact(config, facts, budget, whole)
        lanes.check_memory(config, exact.memory.packing is None if exact else whole)
        if exact:
            return exact
        if config.lanes_see_all and not whole:
            raise UserError(
                f"`scale.ranks` is {config.scale.ranks}, but `sampling.scope` is resident and not all partitions are: lanes "
                "see all nodes, use `sampling.scope: exact`, or more `storage.memory`"
            )
        if config.sampling.refresh_epochs > 1 and not whole:
            raise UserError(
                f"`sampling.refresh_epochs` is {config.sampling.refresh_epochs}, but neighbours are drawn among resident "
                "partitions, which every epoch draws anew: use `sampling.scope: exact`, or 1"
            )
        if given != "auto":
            memory = node_memory(config, facts, given)
            check_capacity_fits(config, given, memory, budget)
            return Resolved(given, ordering_of(config), memory)
        for capacity in range(clusters.usual_group(partitions) if config.trains_clusters else partitions, 0, -1):
            memory = node_memory(config, facts, capacity)
            if memory.total <= budget:
                return Resolved(capacity, ordering_of(config), memory)
        raise UserError(
            f"`storage.memory` is {format_bytes(budget)}, but one resident partition and what goes with it need "
            f"{format_bytes(memory.total)} ({memory.told()}): raise it, or {advice(config, memory)}"
        )

    def _exact(self, config: Config, facts: Facts, budget: int, whole: bool) -> Resolved | None:
        """Return what is resolved where neighbours are drawn among all nodes; None where they are not.

        ``whole``: whether everything fits in memory. There is then no difference, and nothing comes in packs, unless lists are
        to be on disk.
        """
        given, partitions, on_disk = config.storage.capacity, facts.partitions, config.sampling.lists == "disk"
        asked = config.sampling.scope == "exact" or on_disk
        if config.sampling.scope == "resident" or (whole and not asked):
            return None
        if whole and not on_disk:
            everything = node_memory(config, facts, partitions)
            check_capacity_fits(config, partitions, everything, budget)
            return Resolved(partitions, ORDERING, everything, "exact")
        reason = why_not_exact(config)
        if reason is None:
            kept = range(max(partitions - 1, 1), 0, -1) if given == "auto" else [given]
            found = list[tuple[float, Resolved]]()
            for lists, share in LISTS[config.sampling.lists]:
                for capacity in kept:
                    memory = exact_memory(config, facts, capacity, budget // share if share else None)
                    if memory.total <= budget:
                        found.append(
                            (epoch_cost(config, facts, memory, lists), Resolved(capacity, ORDERING, memory, "exact", lists))
                        )
                        break
            if found:
                return min(found, key=lambda each: each[0])[1]
            reason = needs_more(memory, budget, "training.batch_size or sampling.fanouts")
        if asked or config.lanes_see_all:
            asking = {
                "`sampling.scope` is exact": config.sampling.scope == "exact",
                "`sampling.lists` is disk": on_disk,
                f"`scale.ranks` is {config.scale.ranks}, whose lanes see all nodes": True,
            }
            raise UserError(f"{next(said for said, so in asking.items() if so)}, but {reason}")
        return None

    def plan(self, config: Config, counts: npt.NDArray[np.int64], training: int, epoch: int) -> EpochPlan:
        seen, ordering = _seen(config, len(counts)), config.storage.ordering
        plan = make_node_plan(ordering, len(counts), seen, training, config.training.seed, epoch)
        return in_each_lane(plan, config.scale.lanes) if config.lanes_see_all else plan

    def encoder_sizes(self, config: Config, facts: Facts, capacity: int) -> EncoderSizes:
        return node_sizes(config, facts, _nodes(facts), capacity)

    def seeds(self, config: Config, batch: int, nodes: int) -> int:
        return batch

    def items(self, facts: Facts) -> int:
        return _nodes(facts).training

    def unused(self, labels: bool) -> list[str]:
        return []

    def doubtful(self, config: Config, relations: int) -> list[str]:
        return []

    def described(self, config: Config) -> dict[str, Any]:
        return {**encoder_described(config), **({"dim": config.model.dim} if config.learns_rows else {})}

    def reduces_graph(self, config: Config) -> bool:
        return False

    def has_ways(self, config: Config) -> bool:
        """Return whether an encoder reads sampled batches, on the CPU, through hops that have weights."""
        return not (config.trains_clusters or config.propagates) and config.device == "cpu"

    def out_width(self, config: Config, facts: Facts) -> int:
        return _nodes(facts).classes


def ordering_of(config: Config) -> str:
    """Return the ordering of an epoch's partitions."""
    return clusters.ORDERING if config.trains_clusters else ORDERING


def _nodes(facts: Facts) -> NodeFacts:
    assert facts.nodes_to_classify is not None
    return facts.nodes_to_classify


def node_sizes(config: Config, facts: Facts, nodes: NodeFacts, capacity: int) -> EncoderSizes:
    """Return the sizes of node classification's batches. Every node of a batch is a seed."""
    graph = resident(facts, capacity)
    if config.trains_clusters:
        graph = replace(graph, edges=clusters.most_edges(listed_counts(config, facts.bucket_counts), capacity))
    return EncoderSizes(
        min(config.lane_batch, graph.nodes),
        graph,
        input_width(config, facts),
        nodes.classes,
        input_stride(config, facts),
        tables(config, facts),
        nodes.classes if nodes.multi_label else 0,
    )


def node_memory(config: Config, facts: Facts, capacity: int) -> MemoryPlan:
    """Return the memory with ``capacity`` partitions resident. ``config.device`` is resolved already.

    Where training partitions do not all fit, spare slots let the next ones load ahead.
    """
    nodes, spare = _nodes(facts), 0
    if config.storage.prefetch and (config.trains_clusters or nodes.training_partitions > capacity):
        coming = capacity if config.trains_clusters else capacity - capacity // 2
        spare = min(coming, facts.partitions - capacity)
    slots = capacity + spare
    sizes = node_sizes(config, facts, nodes, capacity)
    workspace = encoder_bytes(config, sizes, inputs_of(config, facts) != "features")
    if config.device != "cpu":
        workspace = encoder_host_bytes_for_device(config, sizes)
    known = known_dtype(nodes.classes).itemsize * facts.nodes if config.model.known_classes else 0
    one = slot_bytes(facts.rows_per_partition, input_stride(config, facts))
    return MemoryPlan(
        slots=slots,
        spare=spare,
        slot_bytes=one,
        window_edges=nodes.training,
        buffer=slots * one,
        edges=slots * facts.lists + facts.merging + nodes.training * (24 + sizes.labels) + known,
        workspace=workspace,
        evaluation=evaluation_bytes(config, facts.nodes, nodes.evaluated) + known,
    )


def exact_memory(config: Config, facts: Facts, capacity: int, room: int | None) -> MemoryPlan:
    """Return the memory where as many rows stay as ``capacity`` partitions have.

    All in-edges stay too; or, given ``room`` for samples that grow, they are read in passes, for as many batches as fit there.
    """
    nodes, whole = _nodes(facts), node_memory(config, facts, facts.partitions)
    sizes = node_sizes(config, facts, nodes, facts.partitions)
    batches = -(-nodes.training // config.lane_batch)
    memory = rows_memory(config, facts, whole, sizes, capacity, batches)
    if room is None:
        return memory
    reach, drawn = reached(config, sizes.seeds, sizes.graph)
    growing = growing_bytes((reach[-1], sum(drawn)))
    together = min(max(1, room // growing), batches)
    # Lists that have to be made are made before anything is sampled.
    sampling, made = max(together * growing, facts.merging), facts.all_lists if facts.merging else 0
    lists = LISTS_AT_ONCE * facts.lists + sampling + degree_bytes(config, facts.nodes)
    edges = memory.edges - facts.all_lists - facts.merging + lists
    if memory.pooling:
        return replace(memory, edges=edges, pooling=replace(memory.pooling, together=together, made_lists=made))
    assert memory.packing is not None
    return replace(memory, edges=edges, packing=replace(memory.packing, together=together, made_lists=made))


def epoch_cost(config: Config, facts: Facts, memory: MemoryPlan, lists: str) -> float:
    """Return the bytes that an epoch moves for its rows, and what it draws in passes as so many bytes more.

    The bits of a run do not depend on the choice, but a resumed run should make it again. So it follows from the plan alone:
    rows that stay are taken to be used like others, and no speed is measured.
    """
    nodes, packing, pooling = _nodes(facts), memory.packing, memory.pooling
    batches = -(-nodes.training // config.lane_batch)
    sizes = node_sizes(config, facts, nodes, facts.partitions)
    _, drawn = reached(config, sizes.seeds, sizes.graph)
    if pooling:
        cost, together = 2.0 * pooling.windows(batches) * facts.nodes * pooling.row_bytes, pooling.together
    else:
        assert packing is not None
        packs = batches * (packing.batch_bytes - min(packing.hot / facts.nodes, 1) * packing.cold * packing.row_bytes)
        cost = packs + max(1, ceil(packs / (packing.window_rows * packing.row_bytes))) * facts.nodes * facts.features
        together = packing.together
    if lists == "memory":
        return cost
    # The first hop reads the lists of training nodes alone.
    passes = -(-batches // together) * (len(drawn) - 1 + nodes.training_partitions / facts.partitions)
    return cost + batches * sum(drawn) * DRAWN_IN_PASSES + passes * facts.all_lists


def _seen(config: Config, partitions: int) -> int:
    """Return how many partitions are seen at a time, of a resolved configuration."""
    return partitions if config.sampling.scope == "exact" else int(config.storage.capacity)


def loss_of(nodes: NodeFacts) -> str:
    """Return the loss for nodes with one class each, or with any number of them."""
    return "binary_cross_entropy" if nodes.multi_label else "cross_entropy"
