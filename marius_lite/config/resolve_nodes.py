"""`auto` for the classification of nodes: what stands in memory are features, learned rows, and the resident nodes' edges."""

from __future__ import annotations

from dataclasses import dataclass

from marius_lite.config.encoder_memory import EncoderSizes, encoder_bytes, encoder_host_bytes_for_device, fanouts_of
from marius_lite.config.memory import EVALUATION_BYTES, MemoryPlan, slot_bytes
from marius_lite.config.schema import Config
from marius_lite.errors import UserError
from marius_lite.files import format_bytes


@dataclass(frozen=True)
class NodeFacts:
    """What a dataset and a record hold for each node; sizes in bytes, 0 where there is nothing.

    ``training`` nodes fill the first ``training_partitions``; ``lists``: the in-edges of the largest partition;
    ``features`` and ``embeddings``: a row's stride.
    """

    classes: int
    feature_width: int
    features: int
    embeddings: int
    lists: int
    training: int
    training_partitions: int


def inputs_of(config: Config, facts: NodeFacts) -> str:
    """Raises UserError for features that are not there."""
    asked = config.model.inputs
    if asked in ("features", "both") and not facts.features:
        raise UserError(f"`model.inputs` is {asked}, but the dataset has no features: preprocess with --features, or learn "
                        "embeddings")
    return asked if asked != "auto" else "features" if facts.features else "embeddings"


def input_stride(inputs: str, facts: NodeFacts) -> int:
    """Bytes of a node's rows that the buffers hold."""
    return (facts.features if inputs != "embeddings" else 0) + (facts.embeddings if inputs != "features" else 0)


def node_sizes(config: Config, facts: NodeFacts, resident: int) -> EncoderSizes:
    inputs = inputs_of(config, facts)
    features, learned = inputs != "embeddings", inputs != "features"
    return EncoderSizes(config.training.batch_size, resident, features * facts.feature_width + learned * config.model.dim,
                        facts.classes, input_stride(inputs, facts), features + learned)


def node_memory(config: Config, facts: NodeFacts, partitions: int, rows: int, capacity: int) -> MemoryPlan:
    """Memory with ``capacity`` partitions resident; spare slots let a rotation load ahead. ``config.device`` is no more auto."""
    spare = 0
    if config.storage.prefetch and facts.training_partitions > capacity:
        spare = min(capacity - capacity // 2, partitions - capacity)
    slots = capacity + spare
    workspace = encoder_bytes(config, config.training.batch_size, capacity * rows, facts.feature_width or config.model.dim,
                              facts.classes)
    if config.device != "cpu":
        workspace = encoder_host_bytes_for_device(config, node_sizes(config, facts, capacity * rows))
    one = slot_bytes(rows, input_stride(inputs_of(config, facts), facts))
    return MemoryPlan(slots=slots, spare=spare, slot_bytes=one, window_edges=facts.training, buffer=slots * one,
                      edges=slots * facts.lists + facts.training * 24, workspace=workspace,
                      evaluation=evaluation_bytes(config, partitions * rows))


def evaluation_bytes(config: Config, nodes: int) -> int:
    """Of a ranking or an inference beside the buffer, with the degrees of all nodes where the encoder asks for them."""
    if not config.evaluation.every_epochs:
        return 0
    return EVALUATION_BYTES + (4 * nodes if config.model.encoder == "gcn" else 0)


def resolve_nodes(config: Config, facts: NodeFacts, partitions: int, rows: int, budget: int) -> tuple[int, MemoryPlan]:
    """The capacity, and its memory. Raises UserError where they disagree."""
    asked, given = config.storage.capacity, config.storage.memory != "auto"
    if asked != "auto":
        if not 1 <= asked <= partitions:
            raise UserError(f"`storage.capacity` is {asked}, but the dataset has {partitions} partitions: give 1 to {partitions},"
                            " or auto")
        memory = node_memory(config, facts, partitions, rows, asked)
        if given and memory.total > budget:
            raise UserError(f"`storage.capacity` {asked} needs {format_bytes(memory.total)}, `storage.memory` is "
                            f"{format_bytes(budget)}: lower the capacity, raise the memory, or leave one of them out")
        return asked, memory
    for capacity in range(partitions, 0, -1):
        memory = node_memory(config, facts, partitions, rows, capacity)
        if memory.total <= budget:
            return capacity, memory
    raise UserError(f"`storage.memory` is {format_bytes(budget)}, but one resident partition, its edges and a batch need "
                    f"{format_bytes(memory.total)}: raise it, lower training.batch_size or sampling.fanouts, or preprocess with "
                    f"more than {partitions} partitions")


def fill_nodes(config: Config, facts: NodeFacts) -> Config:
    """Everything that shapes the work, as a value."""
    model = config.model.model_copy(update={"inputs": inputs_of(config, facts)})
    sampling = config.sampling.model_copy(update={"fanouts": fanouts_of(config)})
    return config.model_copy(update={"model": model, "sampling": sampling})
