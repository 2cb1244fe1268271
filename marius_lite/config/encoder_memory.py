"""Plan the memory of an encoder's batches, on the host and on a device: neighbourhoods, rows, values and gradients."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from marius_lite.config.directions import listed_relations
from marius_lite.config.facts import Facts
from marius_lite.config.memory import AHEAD, LOOK_BACK, RING, device_bytes, graph_memory, largest_batch, packet_bytes
from marius_lite.config.model_sections import DEFAULT, Fanout
from marius_lite.config.schema import Config

SUMMING = ("sage", "gcn")
"""Encoders that sum the rows of neighbours. They keep values of the sources only where they map sources first; they do so
where the map makes the rows narrower."""
NORMALIZING = {False: 0, True: 1, "columns": 1, "logs": 3}
"""Copies of the input that `model.normalize_features` makes."""
HOLES = 1.5
"""How much more heap the values of layers take than their own bytes. Blocks of always other sizes leave holes between them."""
REBUILT = {"float32": (5, 7), "float64": (8, 10)}
"""How many copies of rows, and of one group of them, reversible couplings have at a time, by what they are summed in. One of
float64 counts as two."""
EDGE_BYTES, LEFT_OUT_BYTES = 24, 20
"""Bytes of a sampled edge on the host; and more of one that may be left out: a random number, a place, and what is kept."""
MOST_SAMPLED, THREADS_LEFT = 12, 3
"""Batches that are sampled at the same time for a GPU, at most, and threads that have other work then."""
FANOUTS = (15, 10, 5)
"""The fanouts of the first hops where none are given. Later hops take the last of them."""


@dataclass(frozen=True)
class ResidentGraph:
    """The largest part of a graph that is resident at a time, from which batches are sampled.

    ``nodes``: resident nodes, whose ids lie in ``ranges`` ranges. ``edges``: their in-edges. ``relations``: of the whole graph.
    """

    nodes: int
    edges: int
    relations: int
    ranges: int = 1


@dataclass(frozen=True)
class EncoderSizes:
    """What the memory of an encoder's batch depends on.

    ``seeds``: the most seeds that a batch has. ``graph``: what is resident. ``in_width``, ``out_width``: numbers of a node in
    the encoder's input and output. ``stride``: bytes of a node in all tables that hold the input. ``tables``: how many there
    are. ``labels``: classes, where a node may have several; else 0.
    """

    seeds: int
    graph: ResidentGraph
    in_width: int
    out_width: int
    stride: int
    tables: int = 1
    labels: int = 0


def fanouts_of(config: Config) -> tuple[Fanout, ...]:
    """Return the fanouts, one for each layer. All are taken where none is sampled."""
    if config.training.method != "sampled":
        return (-1,) * config.convolutions
    asked = config.sampling.fanouts
    if asked == "auto":
        return tuple(FANOUTS[min(hop, len(FANOUTS) - 1)] for hop in range(len(config.model.layers) + 1))
    return asked


def uniform(config: Config) -> bool:
    """Return whether all neighbours of a node are drawn alike, neither by relation nor by weight."""
    return not config.sampling.weighted and all(isinstance(fanout, int) for fanout in fanouts_of(config))


def drops(config: Config) -> bool:
    """Return whether numbers of the input may be set to zero. It need not be resolved."""
    asked = config.model.input_dropout
    return config.model.dropout > 0 if asked == "auto" else asked > 0


def may_leave_out(config: Config) -> bool:
    """Return whether batches leave sampled edges out, see `config.edge_dropout`. It need not be resolved."""
    asked = config.sampling.edge_dropout
    return config.sampling.refresh_epochs > 1 if asked == "auto" else asked > 0


def samples_on_device(config: Config) -> bool:
    """Return whether the GPU that trains may also draw neighbours."""
    return config.sampling.device != "cpu" and uniform(config)


def most_drawn(fanout: Fanout, relations: int) -> int:
    """Return the most edges that a node draws at a hop. A fanout of -1, all edges, counts as the first of FANOUTS."""
    if isinstance(fanout, int):
        return fanout if fanout >= 0 else FANOUTS[0]
    named = [most_drawn(number, 1) for name, number in fanout.items() if name != DEFAULT]
    return sum(named) + max(relations - len(named), 0) * most_drawn(fanout.get(DEFAULT, 0), 1)


def resident(facts: Facts, capacity: int) -> ResidentGraph:
    """Return the most that is resident with ``capacity`` partitions. An edge takes at least 4 bytes in the in-edge lists."""
    ranges = max(1, min(capacity, facts.partitions - capacity + 1))
    nodes = min(capacity * facts.rows_per_partition, facts.nodes)
    return ResidentGraph(nodes, capacity * facts.lists // 4, facts.relations, ranges)


def reached(config: Config, seeds: int, graph: ResidentGraph) -> tuple[list[int], list[int]]:
    """Return how much the hops reach: (nodes within 0, 1, ... hops of the seeds, edges of the hops 1, 2, ...).

    No count is larger than what is resident. A cluster batch may reach all of it in one hop.
    """
    if config.trains_clusters:
        hops = config.convolutions
        return [min(seeds, graph.nodes), *[graph.nodes] * hops], [graph.edges, *[0] * (hops - 1)]
    fanouts = [most_drawn(fanout, listed_relations(config, graph.relations)) for fanout in fanouts_of(config)]
    sizes = [min(seeds * prod(1 + f for f in fanouts[:hop]), graph.nodes) for hop in range(len(fanouts) + 1)]
    return sizes, [min(nodes * fanout, graph.edges) for nodes, fanout in zip(sizes, fanouts)]


def sampled_at_once(config: Config) -> int:
    """Return how many batches are sampled at the same time for a GPU: threads of one batch wait for each other."""
    if not config.encodes or config.sampling.lists == "disk":
        return 1
    return max(1, min(MOST_SAMPLED, int(config.training.threads) - THREADS_LEFT))


def recurs(config: Config) -> bool:
    """Return whether a GPU can repeat the work of the encoder's batches, once they have sizes that recur.

    Nothing of the work may depend on what the GPU has computed so far, and rows that no seed depends on must change nothing.
    """
    model = config.model
    sampled = config.task == "node_classification" and config.training.method == "sampled"
    return sampled and model.encoder in SUMMING and model.norm != "batch"


def padded_sizes(nodes: list[int], edges: list[int]) -> tuple[list[int], list[int]]:
    """Return a bound of what `reached` gives for samples with sizes that recur, see `sampling.padding`.

    An eighth of the edges is added, an eighth of the nodes for these, and then an eighth of all nodes.
    """
    return [size + size * 17 // 64 + 64 * hops for hops, size in enumerate(nodes, 1)], [size + size // 8 + 16 for size in edges]


def encoder_bytes(config: Config, sizes: EncoderSizes, learned: bool = True) -> int:
    """Return the bytes of a batch on the host: sampled nodes and edges, rows, values and gradients of each layer.

    ``learned``: whether the rows are learned, and so have gradients. Rows are gathered once. Each operation that changes them
    makes a copy. The first layer of sage and gcn sums rows for its targets, before or after it maps the sources. A class of the
    user may keep as many numbers of every source, or more.
    """
    nodes, drawn = reached(config, sizes.seeds, sizes.graph)
    model, width, edges = config.model, sizes.in_width, sum(drawn)
    copies = config.training.staleness + sizes.tables + NORMALIZING[model.normalize_features] + 2 * (drops(config) + learned)
    copies += bool(model.codes) + model.known_classes
    rows = width * copies * nodes[-1]
    if model.encoder in SUMMING:
        rows += width * (3 + 2 * learned) * nodes[-2] + 2 * nodes[-1] * min([*model.layers, sizes.out_width][0], width)
    elif config.propagates:
        rows += width * 2 * nodes[-1]
    elif ":" in model.encoder:
        rows += width * (4 + max(3 - copies, 0)) * nodes[-1]
    if shown := model.shown_degrees:  # rows with numbers more are a copy
        rows += (width + shown) * (1 + learned) * nodes[-1]
    kept = int(HOLES * _values(config, nodes, drawn, sizes))
    edge = EDGE_BYTES + (LEFT_OUT_BYTES if may_leave_out(config) else 0)
    return 4 * rows + kept + edge * edges + _keys(config, edges) + _labels(config, sizes)


def encoder_device_bytes(config: Config, sizes: EncoderSizes, cached: int) -> dict[str, int]:
    """Return the bytes on a device by purpose, as `memory.device_bytes` does for rows without an encoder."""
    nodes, drawn = _reached_on_device(config, sizes)
    values, edges = _values(config, nodes, drawn, sizes, on_device=True), sum(drawn)
    needed = {
        "batches": RING * (nodes[-1] * sizes.stride + _packet(nodes, edges, sizes)),
        "tensors": (2 + (config.model.shown_degrees > 0) + config.model.known_classes) * 4 * 4 * nodes[-1] * sizes.in_width
        + 32 * edges
        + values
        + _labels(config, sizes),
        "held": cached,
    }
    if config.task == "link_prediction":
        decoded = device_bytes(config, 0, 0, sizes.graph.nodes, sizes.graph.relations)
        needed = {name: size + needed.get(name, 0) for name, size in decoded.items()} | {"held": cached}
    if samples_on_device(config):
        needed["sampling"] = _sampling(nodes, edges, sizes)
    return needed


def encoder_graph_bytes(config: Config, sizes: EncoderSizes) -> int:
    """Return the bytes on a device that the work of batches takes where it is kept as graphs, as `memory.graph_bytes` does."""
    if not (config.training.device_graphs and recurs(config)):
        return 0
    nodes, drawn = _reached_on_device(config, sizes)
    gradients = 4 * nodes[-1] * config.model.dim if config.model.inputs != "features" else 0
    read = 4 * nodes[-1] * sizes.in_width + _packet(nodes, sum(drawn), sizes)
    return encoder_device_bytes(config, sizes, 0)["tensors"] + graph_memory(read, gradients)


def encoder_host_bytes_for_device(config: Config, sizes: EncoderSizes) -> int:
    """Return the bytes of the host beside the buffers while a device trains: rows and ids of the batches that are under way,
    and the ids of a batch that is prepared."""
    nodes, drawn = _reached_on_device(config, sizes)
    ids = _packet(nodes, sum(drawn), sizes)
    if config.task == "link_prediction":
        ids += packet_bytes(largest_batch(config), sizes.seeds)
    keys = MOST_SAMPLED * _keys(config, sum(reached(config, sizes.seeds, sizes.graph)[1]))
    return RING * (nodes[-1] * sizes.stride + ids) + (AHEAD + MOST_SAMPLED - 1) * ids + keys


def _reached_on_device(config: Config, sizes: EncoderSizes) -> tuple[list[int], list[int]]:
    nodes, drawn = reached(config, sizes.seeds, sizes.graph)
    return padded_sizes(nodes, drawn) if recurs(config) else (nodes, drawn)


def _keys(config: Config, edges: int) -> int:
    """Return the bytes of the sampler's keys of drawn edges. It has keys where it draws by relation or by weight."""
    return 0 if uniform(config) else 8 * edges


def _labels(config: Config, sizes: EncoderSizes) -> int:
    """Return the bytes of labels where nodes may have several classes: one byte a class for the seeds of the batches that wait,
    compute and are sampled; and three float32 arrays while one computes: labels, losses, weights."""
    return sizes.seeds * sizes.labels * (config.training.staleness + 2 + 3 * 4)


def _sampling(nodes: list[int], edges: int, sizes: EncoderSizes) -> int:
    """Return the bytes of a device's sampler: the seeds and the edges between them that are left out; the hash table of nodes,
    and the one it replaces when it grows; nodes and their rows; what each expanded node draws from; the drawn edges, and the
    local numbers of their sources."""
    return 160 * sizes.seeds + (96 + 32) * nodes[-1] + (80 + 16 * sizes.graph.ranges) * nodes[-2] + 72 * edges


def _values(config: Config, nodes: list[int], edges: list[int], sizes: EncoderSizes, on_device: bool = False) -> int:
    """Return the bytes of each layer's values and gradients, without the input rows: of the nodes, and of the edges where each
    edge makes a message."""
    model = config.model
    widths = [sizes.in_width, *model.layers, sizes.out_width]
    if model.reversible:
        return _rebuilt(config, nodes[-1], sum(edges), widths)
    kept = 4 + (model.norm != "none") + model.residual + (model.dropout > 0)
    of_nodes = sum(4 * kept * count * width for count, width in zip(reversed(nodes[:-1]), widths[1:]))
    if ":" in model.encoder:
        return of_nodes + _own_layers(nodes[-1], sum(edges), widths)
    attention = _attention_on_device if on_device else _attention
    messages = {"gat": attention, "rgcn": _by_relation}.get(model.encoder)
    return of_nodes + (messages(nodes, edges, widths, model.heads) if messages else 0)


def _rebuilt(config: Config, nodes: int, edges: int, widths: list[int]) -> int:
    """Return the bytes of the values of reversible couplings: those of one step, however many there are.

    Of each node: the rows before and after the couplings, their groups, gradients of these, and what all that is put together
    from; of one step what norm, ReLU, dropout and convolution keep and make. Of each edge its weight, and what that is made from.
    """
    model = config.model
    into, width, out = widths[0], widths[1], widths[-1]
    group, (of_rows, of_groups) = width // model.reversible, REBUILT[model.reversible_sums]
    messages = {"gat": _attention, "rgcn": _by_relation}.get(model.encoder)
    convolutions = ((into, width), (group, group), (width, out))
    of_edges = max(messages([nodes] * 2, [edges], [*each], model.heads) for each in convolutions) if messages else 8 * edges
    return 4 * nodes * (of_rows * width + of_groups * group + 4 * out) + of_edges


def _attention(nodes: list[int], edges: list[int], widths: list[int], heads: int) -> int:
    """Return the bytes of gat's layers on the host.

    Of sources: their rows as an operand, and the mapped rows, twice; of targets those, the result and its gradient. Of each
    edge, and of the edge from each target to itself: some numbers a head, among them what dropout keeps, a bit or more for each
    of a row's, and ids.
    """
    total = 0
    for layer, (into, width) in enumerate(zip(widths, [*widths[1:-1], heads * widths[-1]])):
        hops = len(edges) - layer
        attended = sum(edges[:hops]) + nodes[hops - 1]
        total += 4 * (nodes[hops] * (into + 2 * width) + nodes[hops - 1] * 4 * width)
        total += attended * (28 * heads + width // 2 + 32)
    return total


def _attention_on_device(nodes: list[int], edges: list[int], widths: list[int], heads: int) -> int:
    """Return the bytes of gat's layers on a device.

    Of sources and targets: their mapped rows, twice. Of each edge, and of the edge from each target to itself: five rows (the
    source's, its sum with the target's, the activated one, the weighted one, a gradient), its ids, and some numbers a head.
    """
    total = 0
    for layer, width in enumerate([*widths[1:-1], heads * widths[-1]]):
        hops = len(edges) - layer
        attended = sum(edges[:hops]) + nodes[hops - 1]
        total += 4 * width * (2 * nodes[hops] + 2 * nodes[hops - 1] + 5 * attended) + attended * (16 * heads + 64)
    return total


def _by_relation(nodes: list[int], edges: list[int], widths: list[int], heads: int) -> int:
    """Return the bytes of rgcn's layers: a mean for each target and relation, at most as many as edges, before and after the
    map; their gradients; and sorted ids."""
    drawn = [sum(edges[: len(edges) - layer]) for layer in range(len(edges))]
    return sum(count * (4 * 2 * (into + out) + 64) for count, into, out in zip(drawn, widths, widths[1:]))


def _own_layers(nodes: int, edges: int, widths: list[int]) -> int:
    """Return the bytes of the layers of a user's class, which see all that was sampled.

    Nobody knows what such a class keeps. The models of torch_geometric take no more than this: messages twice as wide as the
    input, with gradients; then, in each layer, four rows of an edge and two of a node.
    """
    messages = edges + nodes  # in some models each node also sends to itself
    return 4 * (4 * widths[0] * messages + sum(widths[1:]) * (4 * messages + 2 * nodes))


def _packet(nodes: list[int], edges: int, sizes: EncoderSizes) -> int:
    """Return the bytes of the ids that are sent for a batch: the rows of each table and which of them other batches share;
    offsets, edges, degrees at each end, known classes and labels."""
    rows = sizes.tables * nodes[-1] * (8 + 8 + 3 * 4 + LOOK_BACK * 2 * 4)
    return rows + 8 * (nodes[-2] + 1) + 8 * edges + 3 * 4 * nodes[-1] + (sizes.labels or 8) * sizes.seeds
