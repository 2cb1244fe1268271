"""Plan where every byte of ``storage.memory`` goes. The same sum is planned, printed, and kept by the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from marius_lite.config.decoders import DECODERS
from marius_lite.config.schema import Config
from marius_lite.errors import UserError
from marius_lite.files import format_bytes

SLOT_ROWS = 256  # slots hold a multiple of so many rows: any stride of 16-byte multiples then fills whole 4 KiB pages
EVALUATION_BYTES = 96 << 20  # for the queries, tiles and known answers of a ranking, beside the buffer
CLASSIFIED_BYTES = 24
"""Of a node of the split that is evaluated: 8 and 4 for id and label, 4 for its score, 4 where it is sorted, rest for masks."""
LOOK_BACK = 2
"""Batches before one that may still be under way on a device when its rows are gathered: one computing, one going back."""
RING = LOOK_BACK + 2
"""Blocks on a device: a batch's is read until LOOK_BACK later ones have computed, and the next one's is already being filled."""
CPU_TILE = 1 << 21
"""Numbers in a tile's largest array: 8 MiB stay in a CPU's last cache; a GPU wants fewer and larger steps, `DEVICE_TILE`."""
TILE_QUERIES = 512
"""Queries in a tile by products, at least: what they add to the candidates' gradients passes through memory once a tile."""
UNTILED_QUERIES = 1024
"""Queries whose scores are worked out together where no tile is stored: their sums stay near a core's cache."""
UNTILED_BLOCK = 256  # candidates whose scores a thread works out together: `block_rows` of csrc/score/shared_softmax_parts.h
DEVICE_TILE = 1 << 24
"""Numbers in a tile of scores on a device."""
LOG_Q_BYTES = 20
"""Of each row of the buffer: both sides' corrections of scores, twice while they are made, and a count."""
EDGE_BYTES = 28  # two windows (the next loads while this one trains) of three uint32, and one shuffle


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Bytes by purpose, and the two sizes that follow from them."""

    slots: int
    spare: int
    slot_bytes: int
    window_edges: int
    buffer: int
    edges: int
    workspace: int
    evaluation: int

    @property
    def total(self) -> int:
        return self.buffer + self.edges + self.workspace + self.evaluation

    def told(self) -> str:
        """Each purpose with its bytes as text, the largest first."""
        parts = {"slots": self.buffer, "edges": self.edges, "a batch": self.workspace, "evaluation": self.evaluation}
        return ", ".join(f"{name} {format_bytes(size)}" for name, size in sorted(parts.items(), key=lambda part: -part[1]))

    def as_dict(self) -> dict[str, int]:
        return {**asdict(self), "total": self.total}


def slot_bytes(rows_per_partition: int, stride: int) -> int:
    return -(-rows_per_partition // SLOT_ROWS) * SLOT_ROWS * stride


def negatives_shape(config: Config, resident: int) -> tuple[int, int, int]:
    """(sets, chunks, count) of a batch's negatives, where ``resident`` nodes are in memory. With `negatives.count: all` these are
    one set for both sides."""
    negatives = config.negatives
    return (1, 1, resident) if negatives.count == "all" else (2, negatives.chunks, negatives.count)


def batch_places(config: Config, resident: int) -> int:
    """Nodes that a batch of link prediction names: both ends of its edges, and its negatives."""
    return 2 * config.training.batch_size + prod(negatives_shape(config, resident))


def workspace_bytes(config: Config, relations: int, resident: int, threads: int) -> int:
    """Bytes of a batch: gathered rows, their gradients and sums, queries, one tile of scores and its temporaries, a chunk's
    candidates and their gradients, relations and the decoder's weights."""
    batch, dim = config.training.batch_size, config.model.dim
    _, chunks, count = negatives_shape(config, resident)
    gathered = batch_places(config, resident) * dim * 4
    queries = 8 * batch * dim * 4
    rows = -(-batch // chunks)
    if config.negatives.count == "all":
        rows = min(2 * batch, max(TILE_QUERIES, CPU_TILE // (1 + count)))  # both sides' queries stand in its tiles
        gathered += 2 * count * dim * 4
    tile = 4 * rows * (count + 1) * 4
    if config.training.precision == "mixed":  # whether scores are then stored is up to the processor
        tile = max(tile, _untiled_bytes(min(UNTILED_QUERIES, 2 * batch), dim, threads))
    kept = relations * (2 if config.model.reciprocal else 1)
    learned = kept * dim + DECODERS[config.model.decoder].weights(dim)
    return gathered * (3 + config.training.staleness) + queries + tile + learned * 4 * 6


def _untiled_bytes(queries: int, dim: int, threads: int) -> int:
    """Bytes that `csrc/score/shared_softmax.cpp` packs, and that each thread needs for a block of candidates and the queries."""
    queries, dim = (-(-count // 32) * 32 for count in (queries, dim))
    return 4 * queries * dim + threads * (4 * UNTILED_BLOCK * (queries + dim) + 4 * queries * (dim + 2))


def evaluation_bytes(config: Config, nodes: int, classified: int = 0) -> int:
    """Bytes of a ranking or an inference beside the buffer, with the degrees of all nodes where the encoder may ask for them, and
    of the nodes ``classified`` their ids, labels and the scores of one class."""
    if config.evaluation.every_epochs == 0:
        return 0
    degrees = 4 * nodes if config.model.encoder == "gcn" or ":" in config.model.encoder else 0
    return EVALUATION_BYTES + CLASSIFIED_BYTES * classified + degrees


def largest_window(step_buckets: list[tuple[tuple[int, int], ...]], counts: npt.NDArray[np.int64]) -> int:
    """Edges of the largest step."""
    return max((int(sum(counts[i, j] for i, j in buckets)) for buckets in step_buckets), default=0)


def packet_bytes(edges: int, places: int) -> int:
    """Bytes of a batch's ids on a device: rows and cached places as int64, three lists of int32, each look back's two,
    relations."""
    return places * (8 + 8 + 3 * 4 + LOOK_BACK * 2 * 4) + 4 + edges * 8


def device_bytes(config: Config, stride: int, cached: int, resident: int) -> dict[str, int]:
    """Bytes on a device by purpose, without what CUDA itself takes: batches under way, one batch's tensors, scores,
    cached rows. ``cached``: bytes of the rows that stay on the device."""
    batch, dim, places = config.training.batch_size, config.model.dim, batch_places(config, resident)
    tensors = places * dim * 4 * 5 + 8 * batch * dim * 4  # gathered, masked, masks, gradients, sums; queries
    return {"batches": RING * (places * stride + packet_bytes(batch, places)), "tensors": tensors,
            "scores": 3 * 4 * DEVICE_TILE, "held": cached}


def host_bytes_for_device(config: Config, stride: int, resident: int) -> int:
    """Host memory beside the buffer while a device trains: ids and staged rows of the batches under way, ids being prepared."""
    places = batch_places(config, resident)
    ids = packet_bytes(config.training.batch_size, places)
    return RING * (places * stride + ids) + 4 * ids


def advice(config: Config, memory: MemoryPlan) -> str:
    """Advice on how to lower the part that takes the most memory."""
    encoder = config.model.encoder != "none"
    partitions = "preprocess with more partitions (or `repartition`)"
    batch = "sampling.fanouts" if config.task == "node_classification" else "negatives.count"
    batch += ", sampling.fanouts" if encoder and config.task == "link_prediction" else ""
    ways = {memory.buffer: partitions if config.model.inputs == "features" else f"{partitions} or lower model.dim",
            memory.edges: partitions if encoder else f"lower storage.window_edges, or {partitions}",
            memory.workspace: f"lower training.batch_size or {batch}",
            memory.evaluation: "set evaluation.every_epochs to 0"}
    return ways[max(ways)]


def check_capacity_fits(config: Config, capacity: int, memory: MemoryPlan, budget: int) -> None:
    """Raise UserError where a capacity and a memory that were both given disagree."""
    if memory.total > budget and config.storage.memory != "auto":
        raise UserError(f"`storage.capacity` {capacity} needs {format_bytes(memory.total)} ({memory.told()}), `storage.memory` "
                        f"is {format_bytes(budget)}: lower the capacity, raise the memory, leave one of them out, or "
                        f"{advice(config, memory)}")


def check_device_memory(needed: Mapping[str, int], budget: int) -> None:
    """Raise UserError, naming each purpose, where the bytes ``needed`` on the device exceed ``budget``."""
    total = sum(needed.values())
    if total > budget:
        told = ", ".join(f"{name} {format_bytes(size)}" for name, size in needed.items())
        raise UserError(f"`storage.device_memory` is {format_bytes(budget)}, but the device needs {format_bytes(total)} "
                        f"({told}): raise it, lower training.batch_size, negatives.count, sampling.fanouts or "
                        "storage.device_cache, or choose another storage.device_path")
