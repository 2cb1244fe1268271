"""Plan where every byte of ``storage.memory`` goes. `plan` prints this sum, and a run keeps to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import prod

import numpy as np
import numpy.typing as npt

from marius_lite.config.decoders import DECODERS
from marius_lite.config.packing import Packing
from marius_lite.config.pooling import Pooling
from marius_lite.config.schema import Config
from marius_lite.errors import UserError
from marius_lite.sizes import format_bytes

SLOT_ROWS = 256
"""A slot holds a multiple of this number of rows. So rows of any multiple of 16 bytes fill whole pages of 4 KiB."""
EVALUATION_BYTES = 96 << 20
"""Bytes for the queries, tiles and known answers of a ranking, beside the buffer."""
MOST_RANKING_BYTES = 512 << 20
"""The most that a ranking takes of memory that nothing else needs. A pass over the table is for some ten thousand edges then."""
CLASSIFIED_BYTES = 24
"""Bytes of a node of the split that is evaluated: 8 for its id, 4 each for its label, its score and to sort it; masks."""
LOOK_BACK = 2
"""How many earlier batches may be under way on a device when a batch's rows are gathered: one computes, one goes back."""
TOGETHER, FEW_ROWS = 8, 1 << 13
"""Batches that are sent to a device together, at most, and the rows up to which one is: its ids take less time than a launch."""
RING = LOOK_BACK + 2
"""Blocks on a device. A batch's block is read until LOOK_BACK later batches have computed. The next one is filled meanwhile."""
CPU_TILE = 1 << 21
"""Numbers in the largest array of a tile on the CPU: its 8 MiB stay in the last cache."""
TILE_QUERIES = 512
"""The fewest queries in a tile that a matrix product scores. Each tile adds to the candidates' gradients, which pass through
memory once a tile."""
STORED_SCORES = 1 << 23
"""Scores that native code has in memory at a time, where a block of queries does not have more: `scores_at_once` of
csrc/score/shared_loss.cpp."""
SCORED_BLOCK, SCORED_BLOCKS = 32, 8
"""Queries in a block there, and blocks that are scored together: `most_block` and `blocks_of_group` of
csrc/score/shared_loss_kernels.h and shared_loss_loops.h."""
SLICES_OF_THREAD, LEAST_SLICE = 4, 96
"""Parts that candidates are split into for each thread, where chunks are fewer than threads, and the fewest candidates of one:
`slices_of_thread` and `least_slice` of csrc/score/shared_loss.cpp."""
AMX_BLOCKS, AMX_TURN, AMX_SLICE = 16, 4, 1 << 22
"""The same by tiles of AMX; blocks whose scores are not shares yet; bytes of a slice: `blocks_in_turn`, `slice_bytes` there."""
DEVICE_TILE = 1 << 27
"""Numbers in a tile of scores on a device, at most. A GPU wants fewer and larger steps than a CPU: of 100 M scores, the products
for the negatives' gradients take 1.0 ms of an H200 in four tiles, and 0.65 ms in one."""
RANKED_TILE = 1 << 23
"""Numbers in a tile of scores of a ranking on a device: `evaluate.scorer.TileShape.on`."""
CLASSES = 2
"""Classes of partitions that meet others equally often, mostly. Small graphs may have some more, `beta` has one a partition."""
GRAPH_BYTES = 256 << 20
"""Bytes on a device of the results of graphs: the gradients of batches whose work is kept."""
PRODUCTS_WORKSPACE = 32 << 20
"""Bytes that cuBLAS takes on the stream of the graphs (`CUBLAS_WORKSPACE_CONFIG` of `nn.torch_settings`)."""
AHEAD = 5
"""Batches on the host whose ids are drawn, at most: in two threads, in a queue behind each, and the one that begins."""
LOG_Q_BYTES = 20
"""Bytes of each row of the buffer for `negatives.log_q`: corrections for both sides, twice while they are made, and a count."""
CLASS_BYTES = 2
"""Bytes of each row of the buffer for `negatives.balance`: the class of its partition."""
KEPT_BYTES, MOST_KEPT, KEPT_SHARE = 12, 64 << 20, 1 / 32
"""Bytes of an edge that is kept in memory: three uint32. So many bytes of them are kept at most, and this share of the memory."""
EDGE_BYTES = 28
"""Bytes of an edge in a window: three uint32, in the window that trains and in the one that loads meanwhile, and its place in the
shuffle."""
ORDER_BYTES = 4
"""Bytes of an edge's place in the shuffle of the window that loads meanwhile, where it is made then."""


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """The bytes for each purpose, the slots of the buffer, and the edges of a window.

    ``slots``: partitions in the buffer, of which ``spare`` are for prefetching, each of ``slot_bytes``. ``window_edges``: edges
    that are loaded together. ``kept_edges``: edges that are read once and kept: all, or none. Bytes: ``buffer``, ``edges``,
    ``workspace`` (a batch), ``evaluation``. ``packing``: how features come that are not in memory, where neighbours are drawn
    among all nodes; ``pooling``: how learned rows do.
    """

    slots: int
    spare: int
    slot_bytes: int
    window_edges: int
    buffer: int
    edges: int
    workspace: int
    evaluation: int
    packing: Packing | None = None
    pooling: Pooling | None = None
    kept_edges: int = 0
    orders_ahead: bool = False

    @property
    def total(self) -> int:
        return self.buffer + self.edges + self.workspace + self.evaluation

    def keeping(self, edges: int, budget: int, each: int) -> MemoryPlan:
        """Return the plan with edges of so many bytes kept in memory, where they are few and fit; else the plan as it is."""
        size = edges * each
        if size > min(MOST_KEPT, budget * KEPT_SHARE, budget - self.total):
            return self
        return replace(self, kept_edges=edges, edges=self.edges + size)

    def ordering_ahead(self, budget: int) -> MemoryPlan:
        """Return the plan with windows shuffled ahead, where the memory has room for it; else the plan as it is."""
        size = ORDER_BYTES * self.window_edges
        return self if size > budget - self.total else replace(self, orders_ahead=True, edges=self.edges + size)

    def told(self) -> str:
        """Return the purposes and their bytes as text, the largest first."""
        parts = {"slots": self.buffer, "edges": self.edges, "a batch": self.workspace, "evaluation": self.evaluation}
        return ", ".join(f"{name} {format_bytes(size)}" for name, size in sorted(parts.items(), key=lambda part: -part[1]))

    def as_dict(self) -> dict[str, int]:
        return {**asdict(self), "total": self.total}


def slot_bytes(rows_per_partition: int, stride: int) -> int:
    """Return the bytes of a slot for partitions of so many rows, ``stride`` bytes each."""
    return -(-rows_per_partition // SLOT_ROWS) * SLOT_ROWS * stride


def negatives_shape(config: Config, resident: int) -> tuple[int, int, int]:
    """Return (sets, chunks, count) of a batch's negatives, where ``resident`` nodes are in memory.

    There is a set for each side. With `negatives.count: all` both sides share one.
    """
    negatives = config.negatives
    return (1, 1, resident) if negatives.count == "all" else (2, config.lane_chunks, negatives.count)


def largest_batch(config: Config) -> int:
    """Return the most edges of a batch; see `sampling.windows.Cut`."""
    size = config.lane_batch
    return size * 3 // 2 if config.training.even_batches else size


def scored_shape(config: Config, resident: int) -> tuple[int, int, int]:
    """Return (queries that share candidates, candidates, numbers of each), where ``resident`` nodes are in memory."""
    _, chunks, count = negatives_shape(config, resident)
    sides = 2 if config.negatives.count == "all" else 1
    return sides * -(-largest_batch(config) // chunks), count, config.model.dim


def batch_places(config: Config, resident: int) -> int:
    """Return how many nodes a batch of link prediction names: both ends of its edges, and its negatives."""
    return 2 * largest_batch(config) + prod(negatives_shape(config, resident))


def workspace_bytes(config: Config, relations: int, resident: int, threads: int) -> int:
    """Return the bytes of a batch of link prediction: gathered rows, their gradients and sums; what dropout makes of them;
    queries of both sides, relations, and what becomes of them; one tile of scores with its temporaries; relations and the
    decoder's weights."""
    batch, dim = largest_batch(config), config.model.dim
    _, chunks, count = negatives_shape(config, resident)
    gathered = batch_places(config, resident) * dim * 4
    queries = (16 if config.has_biases else 12) * batch * dim * 4
    dropped = 2 * (gathered + 2 * batch * dim * 4) if config.model.dropout else 0
    rows = -(-batch // chunks)
    if config.negatives.count == "all":
        rows = min(2 * batch, max(TILE_QUERIES, CPU_TILE // count))  # a tile has queries of both sides
    tile = 4 * max(rows * count, batch * config.negatives.first_count if config.negatives.first_epochs else 0) * 4
    kept = relations * (2 if config.model.reciprocal else 1)
    if config.training.scoring != "torch":  # the processor decides how scores are computed, so each way must fit
        rounds = config.training.precision == "mixed"
        tile = max(tile, _native_bytes(scored_shape(config, resident), chunks, rounds, threads))
        if config.loss.relation_weight:  # all relations are candidates of every edge
            tile = max(tile, _native_bytes((batch, kept, dim), 1, rounds, threads))
    learned = kept * dim + DECODERS[config.model.decoder].weights(dim)
    return gathered * (3 + config.training.staleness) + dropped + queries + tile + learned * 4 * 6


def _native_bytes(shape: tuple[int, int, int], chunks: int, rounds: bool, threads: int) -> int:
    """Return the bytes that `csrc/score/shared_loss.cpp` needs beside a batch, in the way that needs most.

    ``shape``: queries that share candidates, candidates, numbers of each. A way stores scores of some blocks of queries, for each
    thread or for slices of candidates; where it ``rounds``, rounded candidates too, twice. Tiles: shares, half as large.
    """
    queries, count, dim = shape
    slices = 1 if chunks >= threads else min(-(-SLICES_OF_THREAD * threads // chunks), max(1, -(-count // LEAST_SLICE)))
    at_once = min(threads, chunks) if slices == 1 else 1
    packed = -(-dim // 32) * 32

    def stored(blocks: int, scores: int) -> int:
        """Return queries whose scores are stored at a time. Narrower blocks may leave less of the allowed ones unused."""
        most = SCORED_BLOCK * min(blocks, max(1, -(-queries // SCORED_BLOCK)))
        return min(most, max(SCORED_BLOCK, scores // (at_once * max(count, 1))))

    def of_slices(number: int, queried: int) -> int:
        return number * (12 * queried * packed + (1 << 13))

    by_vectors = stored(SCORED_BLOCKS, STORED_SCORES)
    scores = by_vectors * max(count, 1)
    if not rounds:
        return at_once * (4 * scores + of_slices(slices, by_vectors))
    candidates = 4 * (count + slices) * packed
    by_tiles, of_turn = stored(AMX_BLOCKS, 2 * STORED_SCORES), 6 * AMX_TURN * SCORED_BLOCK
    rows = max(AMX_SLICE // (4 * dim + of_turn) // 32, 4) * 32
    shorter = max(slices, -(-count // rows))
    all_rows = count + 63 * shorter  # with those that fill the last tiles, and a line of cache between vectors
    tiles = all_rows * (2 * by_tiles + of_turn + 4 * packed + 256) + of_slices(shorter, by_tiles + 64) + 128 * packed * shorter
    return at_once * max(6 * scores + candidates + of_slices(slices, by_vectors), tiles)


def evaluation_bytes(config: Config, nodes: int, classified: int = 0) -> int:
    """Return the bytes of an evaluation beside the buffer.

    The degrees of all nodes count where the encoder may ask for them. For ``classified`` nodes, their ids, labels and the scores
    of one class count.
    """
    if config.evaluation.every_epochs == 0:
        return 0
    return EVALUATION_BYTES + CLASSIFIED_BYTES * classified + degree_bytes(config, nodes)


def ranking_bytes(config: Config, plan: MemoryPlan, trains: bool) -> int:
    """Return the bytes that a ranking has beside the buffer, for a configuration without ``auto``.

    It has what the plan says, and what is left of the memory: that of batches and edges too, where nothing ``trains``. Each block
    of questions is a pass over the table, so blocks should be large. Beside training on a GPU it has no more than the plan says:
    a block's vectors are on the device, where memory is for batches.
    """
    assert isinstance(config.storage.memory, int)
    if trains and config.device != "cpu":
        return EVALUATION_BYTES
    others = plan.buffer + max(0, plan.evaluation - EVALUATION_BYTES) + (plan.edges + plan.workspace if trains else 0)
    return min(max(config.storage.memory - others, EVALUATION_BYTES), MOST_RANKING_BYTES)


def degree_bytes(config: Config, nodes: int) -> int:
    """Return the bytes of the degrees of all nodes, where the encoder may ask for them; and of those at either end."""
    return 4 * (3 if config.model.shown_degrees > 1 else 1) * nodes if config.asks_for_degrees else 0


def largest_window(step_buckets: list[tuple[tuple[int, int], ...]], counts: npt.NDArray[np.int64]) -> int:
    """Return the edges of the largest step."""
    return max((int(sum(counts[i, j] for i, j in buckets)) for buckets in step_buckets), default=0)


def packet_bytes(edges: int, places: int) -> int:
    """Return the bytes of a batch's ids on a device.

    For each place: two int64 (a row and a place in the cache), three int32, two int32 for each of the LOOK_BACK batches before,
    and the class of a negative. For each edge: its relation, and for each side an int32 by which relations' gradients are summed,
    and three for each 256; what is left out of its negatives, and what is taken from scores, see `types.comparison_arrays`.
    (Those for each relation are few beside its numbers.)
    """
    compared = 16 + 4 * (1 + CLASSES)
    return places * (8 + 8 + 3 * 4 + LOOK_BACK * 2 * 4 + 8) + 4 + edges * (8 + 2 * (4 + compared) + 1)


def sent_bytes(edges: int, places: int) -> int:
    """Return the bytes of the ids that are sent to a device together: of one batch, or of several that are small."""
    return packet_bytes(edges, places) * (TOGETHER if places <= FEW_ROWS else 1)


def device_bytes(config: Config, stride: int, cached: int, resident: int, relations: int) -> dict[str, int]:
    """Return the bytes on a device by purpose: batches under way, the tensors of one batch, scores, and rows that stay there.

    ``cached``: bytes of the rows that stay on the device. ``resident``: nodes in memory. ``relations``: of the graph. What CUDA
    itself takes is not counted.
    """
    batch, dim, places = largest_batch(config), config.model.dim, batch_places(config, resident)
    tensors = places * dim * 4 * 5 + 16 * batch * dim * 4  # gathered, masked, masks, gradients, sums; queries
    return {
        "batches": RING * (places * stride + sent_bytes(batch, places)),
        "tensors": tensors,
        "scores": 3 * 4 * max(RANKED_TILE, min(DEVICE_TILE, _tile_numbers(config, resident, relations))),
        "held": cached,
    }


def _tile_numbers(config: Config, resident: int, relations: int) -> int:
    """Return the numbers of the largest array by which all scores of a batch are computed at once: those of nodes, or those of
    relations where they are predicted too."""
    _, chunks, count = negatives_shape(config, resident)
    batch = largest_batch(config)
    queries = 2 * -(-batch // chunks) * chunks
    of_nodes = queries * count * (1 if DECODERS[config.model.decoder].inner else config.model.dim)
    return max(of_nodes, batch * 2 * relations if config.loss.relation_weight else 0)  # rows are two where reciprocal


def graph_bytes(config: Config, resident: int, relations: int) -> int:
    """Return the bytes on a device that the work of batches takes where it is kept as graphs: what they compute, again, which all
    graphs have in common, and `graph_memory`. 0 where there are none.
    """
    if not config.training.device_graphs:
        return 0
    batch, places = largest_batch(config), batch_places(config, resident)
    needs, values = device_bytes(config, 0, 0, resident, relations), places * config.model.dim * 4
    return needs["tensors"] + needs["scores"] + graph_memory(values + sent_bytes(batch, places), values)


def graph_memory(read: int, given: int) -> int:
    """Return the bytes of graphs that ``read`` so many, and have results of so many bytes ``given``.

    What is read is in memory that all have in common, with an eighth more, twice while it grows. A new graph is made before the
    oldest goes, so that there are three for a moment, however large their results are. The library has a workspace.
    """
    return PRODUCTS_WORKSPACE + 2 * (read + read // 8) + max(GRAPH_BYTES + given, 3 * given)


def host_bytes_for_device(config: Config, stride: int, resident: int) -> int:
    """Return the bytes of the host beside the buffer while a device trains: ids and rows of the batches that are under way, and
    the ids of a batch that is prepared."""
    places = batch_places(config, resident)
    ids = sent_bytes(largest_batch(config), places)
    return RING * (places * stride + ids) + AHEAD * ids


def advice(config: Config, memory: MemoryPlan) -> str:
    """Return advice on how to lower the part that takes the most memory."""
    encoder = config.model.encoder != "none"
    partitions = "preprocess with more partitions (or `repartition`)"
    batch = "sampling.fanouts" if config.task == "node_classification" else "negatives.count"
    batch += ", sampling.fanouts" if encoder and config.task == "link_prediction" else ""
    ways = {
        memory.buffer: partitions if config.model.inputs == "features" else f"{partitions} or lower model.dim",
        memory.edges: partitions if encoder else f"lower storage.window_edges, or {partitions}",
        memory.workspace: partitions if config.trains_clusters else f"lower training.batch_size or {batch}",
        memory.evaluation: "set evaluation.every_epochs to 0",
    }
    return ways[max(ways)]


def check_capacity_fits(config: Config, capacity: int, memory: MemoryPlan, budget: int) -> None:
    """Raise UserError where a capacity and a memory are both given, and the capacity needs more."""
    if memory.total > budget and config.storage.memory != "auto":
        raise UserError(
            f"`storage.capacity` {capacity} needs {format_bytes(memory.total)} ({memory.told()}), `storage.memory` "
            f"is {format_bytes(budget)}: lower the capacity, raise the memory, leave one of them out, or "
            f"{advice(config, memory)}"
        )


def check_device_memory(needed: Mapping[str, int], budget: int) -> None:
    """Raise UserError, naming each purpose, where the bytes ``needed`` on the device exceed ``budget``."""
    total = sum(needed.values())
    if total > budget:
        parts = ", ".join(f"{name} {format_bytes(size)}" for name, size in needed.items())
        raise UserError(
            f"`storage.device_memory` is {format_bytes(budget)}, but the device needs {format_bytes(total)} "
            f"({parts}): raise it, lower training.batch_size, negatives.count, sampling.fanouts or "
            "storage.device_cache, choose another storage.device_path, or `device: cpu`"
        )
