"""Where every byte of ``storage.memory`` goes: the same sum is planned, printed, and kept by the run."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

SLOT_ROWS = 256  # slots hold a multiple of so many rows: any stride of 16-byte multiples then fills whole 4 KiB pages
EVALUATION_BYTES = 96 << 20  # for the queries, tiles and known answers of a ranking, beside the buffer
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

    def as_dict(self) -> dict[str, int]:
        return {**asdict(self), "total": self.total}


def slot_bytes(rows_per_partition: int, stride: int) -> int:
    return -(-rows_per_partition // SLOT_ROWS) * SLOT_ROWS * stride


def workspace_bytes(batch: int, chunks: int, negatives: int, dim: int, staleness: int, relations: int) -> int:
    """Gathered rows, their gradients and sums, queries, one tile of scores and its temporaries, relations."""
    gathered = (2 * batch + 2 * chunks * negatives) * dim * 4
    queries = 8 * batch * dim * 4
    tile = 4 * -(-batch // chunks) * (negatives + 1) * 4
    return gathered * (3 + staleness) + queries + tile + relations * dim * 4 * 6


def largest_window(step_buckets: list[tuple[tuple[int, int], ...]], counts: npt.NDArray[np.int64]) -> int:
    """Edges of the largest step."""
    return max((int(sum(counts[i, j] for i, j in buckets)) for buckets in step_buckets), default=0)
