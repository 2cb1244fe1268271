"""Choose the path by which rows reach a device: measured seconds a row, times the rows that an epoch is expected to move.

docs/gpu-choices.md explains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from marius_lite.sampling.windows import Cut
from marius_lite.types import EpochPlan

PATHS = ("zero_copy", "staged", "bulk")


@dataclass(frozen=True, slots=True)
class Rates:
    """Measured seconds a row, there and back.

    ``zero_copy``, ``staged``: chosen rows, by this link. ``cached``: chosen rows, between a cache and a block on the device.
    ``partition``: a row of a whole partition that is copied in one go.
    """

    zero_copy: float
    staged: float
    cached: float
    partition: float

    def __add__(self, other: Rates) -> Rates:
        """The rates of two tables of which batches take the same rows."""
        return Rates(
            self.zero_copy + other.zero_copy,
            self.staged + other.staged,
            self.cached + other.cached,
            self.partition + other.partition,
        )


@dataclass(frozen=True, slots=True)
class Load:
    """The rows that a step moves.

    ``touched``: different rows of a batch, summed over the step's ``batches``. ``moved``: rows of the partitions that it loads.
    """

    touched: float
    moved: int
    batches: int = 1


@dataclass(frozen=True, slots=True)
class Choice:
    """One of PATHS, and the reason as it is logged."""

    path: str
    why: str


def expected_loads(
    plan: EpochPlan, bucket_counts: npt.NDArray[np.int64], partition_rows: int, cut: Cut, negatives: int
) -> list[Load]:
    """The loads of an epoch's steps that train edges, as if every resident row were equally likely.

    Where some nodes have most of the edges, batches touch fewer rows. ``bucket_counts``: edges of each bucket, (p, p).
    ``negatives``: of a batch, over its sides and chunks.
    """
    loads = []
    for step in plan.steps:
        resident = len(step.resident) * partition_rows
        edges = int(sum(bucket_counts[i, j] for i, j in step.buckets))
        ends = [cut.before(edges, batch) for batch in range(cut.batches(edges) + 1)]
        touched = sum(distinct(resident, 2 * (last - first) + negatives) for first, last in pairwise(ends))
        loads.append(Load(touched, len(step.load) * partition_rows, len(ends) - 1))
    return loads


def node_loads(plan: EpochPlan, nodes: Sequence[int], partition_rows: int, batch_size: int, reached: int) -> list[Load]:
    """The loads of steps that train ``nodes``, one number a step. A batch reaches at most ``reached`` rows."""
    loads = []
    for step, count in zip(plan.steps, nodes, strict=True):
        batches = -(-count // batch_size)
        touched = distinct(len(step.resident) * partition_rows, reached) * batches
        loads.append(Load(touched, len(step.load) * partition_rows, batches))
    return loads


def rows_of_batch(loads: Sequence[Load]) -> int:
    """The different rows that a batch touches, on average; at least 1."""
    return max(1, round(sum(load.touched for load in loads) / max(1, sum(load.batches for load in loads))))


def distinct(rows: int, draws: int) -> float:
    """The expected number of different rows among ``draws`` draws, of ``rows`` equally likely ones."""
    return float(-rows * np.expm1(draws * np.log1p(-1 / rows))) if rows > 1 else 1.0


def seconds(rates: Rates, loads: Sequence[Load]) -> dict[str, float]:
    """The seconds that rows travel by each path in these steps."""
    touched, moved = sum(load.touched for load in loads), sum(load.moved for load in loads)
    return {
        "zero_copy": touched * rates.zero_copy,
        "staged": touched * rates.staged,
        "bulk": touched * rates.cached + moved * rates.partition,
    }


def choose(rates: Rates, loads: Sequence[Load], buffer_bytes: int, free_bytes: int) -> Choice:
    """The path that takes least time. Bulk only where the whole buffer fits into the device memory that batches leave free."""
    taken = seconds(rates, loads)
    told = ", ".join(f"{path} {value:.3g} s" for path, value in taken.items())
    if buffer_bytes > free_bytes:
        del taken["bulk"]
        told += f" (but the buffer's {buffer_bytes:,} bytes exceed the {free_bytes:,} left in storage.device_memory)"
    return Choice(min(taken, key=lambda path: taken[path]), f"an epoch's rows would travel in: {told}")
