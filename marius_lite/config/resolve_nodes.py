"""`auto` for the classification of nodes: what stands in memory are features, learned rows, and the resident nodes' edges."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from marius_lite.config.memory import EVALUATION_BYTES, MemoryPlan, slot_bytes
from marius_lite.config.schema import DEFAULT, Config, Fanout
from marius_lite.errors import UserError
from marius_lite.files import format_bytes

FANOUTS = (15, 10, 5)
"""Of the first hops; later ones take the last."""


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
    relations: int = 1


def fanouts_of(config: Config) -> tuple[Fanout, ...]:
    """One for each layer."""
    asked = config.sampling.fanouts
    if asked == "auto":
        return tuple(FANOUTS[min(hop, len(FANOUTS) - 1)] for hop in range(len(config.model.layers) + 1))
    return asked


def most_drawn(fanout: Fanout, relations: int) -> int:
    """Edges that a node draws at a hop, at most; all of them count as the first of FANOUTS."""
    if isinstance(fanout, int):
        return fanout if fanout >= 0 else FANOUTS[0]
    named = [most_drawn(number, 1) for name, number in fanout.items() if name != DEFAULT]
    return sum(named) + max(relations - len(named), 0) * most_drawn(fanout.get(DEFAULT, 0), 1)


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


def node_memory(config: Config, facts: NodeFacts, partitions: int, rows: int, capacity: int) -> MemoryPlan:
    """Memory with ``capacity`` partitions resident; spare slots let a rotation load ahead."""
    spare = 0
    if config.storage.prefetch and facts.training_partitions > capacity:
        spare = min(capacity - capacity // 2, partitions - capacity)
    slots = capacity + spare
    here = Resident(capacity * rows, capacity * facts.lists // 4, facts.relations)
    workspace = encoder_bytes(config, config.training.batch_size, here, facts.feature_width or config.model.dim, facts.classes)
    one = slot_bytes(rows, input_stride(inputs_of(config, facts), facts))
    return MemoryPlan(slots=slots, spare=spare, slot_bytes=one, window_edges=facts.training, buffer=slots * one,
                      edges=slots * facts.lists + facts.training * 24, workspace=workspace,
                      evaluation=evaluation_bytes(config, partitions * rows))


def evaluation_bytes(config: Config, nodes: int) -> int:
    """Of a ranking or an inference beside the buffer, with the degrees of all nodes where the encoder asks for them."""
    if not config.evaluation.every_epochs:
        return 0
    return EVALUATION_BYTES + (4 * nodes if config.model.encoder == "gcn" else 0)


@dataclass(frozen=True)
class Resident:
    """At most what batches are sampled from: ``nodes``, their ``edges``, of so many ``relations``."""

    nodes: int
    edges: int
    relations: int


def encoder_bytes(config: Config, seeds: int, here: Resident, in_width: int, out_width: int) -> int:
    """A batch's sampled nodes and edges, its rows, and each layer's values and gradients: at most all that is resident."""
    fanouts = [most_drawn(fanout, here.relations) for fanout in fanouts_of(config)]
    sizes = [min(seeds * prod(1 + f for f in fanouts[:hop]), here.nodes) for hop in range(len(fanouts) + 1)]
    widths = [in_width, *config.model.layers, out_width]
    values = sum(4 * 4 * nodes * width for nodes, width in zip(reversed(sizes), widths))
    edges = sum(min(nodes * fanout, here.edges) for nodes, fanout in zip(sizes, fanouts))
    by_keys = config.sampling.weighted or any(isinstance(fanout, dict) for fanout in fanouts_of(config))
    return 3 * 4 * sizes[-1] * widths[0] + values + (32 if by_keys else 24) * edges


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
