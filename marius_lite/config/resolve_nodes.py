"""Resolve `auto` for node classification, whose memory is features, learned rows, and in-edges of resident nodes."""

from __future__ import annotations

from marius_lite.config.encoder_memory import EncoderSizes, encoder_bytes, encoder_host_bytes_for_device, resident
from marius_lite.config.facts import Facts, NodeFacts
from marius_lite.config.memory import EVALUATION_BYTES, MemoryPlan, advice, batch_places, check_capacity_fits, slot_bytes
from marius_lite.config.schema import Config
from marius_lite.errors import UserError
from marius_lite.files import format_bytes
from marius_lite.ordering.plan import check_node_capacity

CLASSIFIED_BYTES = 24
"""Of a node of the split that is evaluated: 8 and 4 for id and label, 4 for its score, 4 where it is sorted, rest for masks."""


def inputs_of(config: Config, facts: Facts) -> str:
    """The inputs of a run: features, embeddings or both. Raises UserError for features that the dataset lacks."""
    asked = config.model.inputs if config.model.encoder != "none" else "embeddings"
    if asked in ("features", "both") and not facts.features:
        raise UserError(f"`model.inputs` is {asked}, but the dataset has no features: preprocess with --features, or set "
                        "`model.inputs` to embeddings")
    inputs = asked if asked != "auto" else "features" if facts.features else "embeddings"
    if inputs == "embeddings" and config.model.normalize_features:
        raise UserError("`model.normalize_features` is true, but there are no features to learn from: leave it out")
    return inputs


def input_stride(config: Config, facts: Facts) -> int:
    """Bytes of a node's rows that the buffers hold."""
    inputs = inputs_of(config, facts)
    return (facts.features if inputs != "embeddings" else 0) + (facts.stride if inputs != "features" else 0)


def input_width(config: Config, facts: Facts) -> int:
    """Numbers of a node in the encoder's input."""
    inputs = inputs_of(config, facts)
    return (facts.feature_width if inputs != "embeddings" else 0) + (config.model.dim if inputs != "features" else 0)


def node_sizes(config: Config, facts: Facts, nodes: NodeFacts, capacity: int) -> EncoderSizes:
    return EncoderSizes(config.training.batch_size, resident(facts, capacity), input_width(config, facts), nodes.classes,
                        input_stride(config, facts), 2 if inputs_of(config, facts) == "both" else 1,
                        nodes.classes if nodes.multi_label else 0)


def link_sizes(config: Config, facts: Facts, capacity: int) -> EncoderSizes:
    """Sizes of link prediction's batches: every place of a batch is a seed."""
    here = resident(facts, capacity)
    return EncoderSizes(batch_places(config, here.nodes), here, input_width(config, facts), config.model.dim,
                        input_stride(config, facts), 2 if inputs_of(config, facts) == "both" else 1)


def node_memory(config: Config, facts: Facts, nodes: NodeFacts, capacity: int) -> MemoryPlan:
    """Memory with ``capacity`` partitions resident; spare slots let a rotation load ahead. ``config.device`` is no more auto."""
    spare, rows = 0, facts.rows_per_partition
    if config.storage.prefetch and nodes.training_partitions > capacity:
        spare = min(capacity - capacity // 2, facts.partitions - capacity)
    slots = capacity + spare
    sizes = node_sizes(config, facts, nodes, capacity)
    workspace = encoder_bytes(config, sizes, inputs_of(config, facts) != "features")
    if config.device != "cpu":
        workspace = encoder_host_bytes_for_device(config, sizes)
    one = slot_bytes(rows, input_stride(config, facts))
    return MemoryPlan(slots=slots, spare=spare, slot_bytes=one, window_edges=nodes.training, buffer=slots * one,
                      edges=slots * facts.lists + nodes.training * (24 + sizes.labels), workspace=workspace,
                      evaluation=evaluation_bytes(config, facts.nodes, nodes.evaluated))


def evaluation_bytes(config: Config, nodes: int, classified: int = 0) -> int:
    """Bytes of a ranking or an inference beside the buffer, with the degrees of all nodes where the encoder may ask for them, and
    of the nodes ``classified`` their ids, labels and the scores of one class."""
    if config.evaluation.every_epochs == 0:
        return 0
    degrees = 4 * nodes if config.model.encoder == "gcn" or ":" in config.model.encoder else 0
    return EVALUATION_BYTES + CLASSIFIED_BYTES * classified + degrees


def loss_of(nodes: NodeFacts) -> str:
    return "binary_cross_entropy" if nodes.multi_label else "cross_entropy"


def resolve_nodes(config: Config, facts: Facts, nodes: NodeFacts, budget: int) -> tuple[int, MemoryPlan]:
    """Choose the capacity, and return it with its memory. Raises UserError where they disagree."""
    weights, asked, partitions = config.loss.class_weights, config.storage.capacity, facts.partitions
    if config.loss.name not in ("auto", loss := loss_of(nodes)):
        several = "any number of classes" if nodes.multi_label else "one class"
        raise UserError(f"`loss.name` is {config.loss.name}, but nodes of the dataset have {several}: use {loss}, or leave it "
                        "out")
    if isinstance(weights, tuple) and len(weights) != nodes.classes:
        raise UserError(f"`loss.class_weights` has {len(weights)} numbers, the dataset has {nodes.classes} classes: give "
                        "one for each")
    if asked != "auto":
        check_node_capacity(partitions, asked)
        memory = node_memory(config, facts, nodes, asked)
        check_capacity_fits(config, asked, memory, budget)
        return asked, memory
    for capacity in range(partitions, 0, -1):
        memory = node_memory(config, facts, nodes, capacity)
        if memory.total <= budget:
            return capacity, memory
    raise UserError(f"`storage.memory` is {format_bytes(budget)}, but one resident partition and its batches need "
                    f"{format_bytes(memory.total)} ({memory.told()}): raise it, or {advice(config, memory)}")
