"""Which way rows take to a device: what was measured, applied to what the plan will touch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marius_lite.types import EpochPlan

PATHS = ("zero_copy", "staged", "bulk")


@dataclass(frozen=True, slots=True)
class Rates:
    """Seconds, measured: of one row up and one row back at the same time by each link, of a row copied within the device
    both ways, and of a partition's row copied in and back when whole partitions move."""

    zero_copy: float
    staged: float
    held: float
    partition: float

    def __add__(self, other: Rates) -> Rates:
        """Of the rows of two tables that batches take together."""
        return Rates(self.zero_copy + other.zero_copy, self.staged + other.staged, self.held + other.held,
                     self.partition + other.partition)


@dataclass(frozen=True, slots=True)
class Load:
    """Rows of a step: ``touched``, once in each batch, summed over its batches; ``moved``, of the partitions that arrive."""

    touched: float
    moved: int


@dataclass(frozen=True, slots=True)
class Choice:
    path: str
    why: str


def expected_loads(plan: EpochPlan, bucket_counts: npt.NDArray[np.int64], partition_rows: int, batch_size: int,
                   negatives: int) -> list[Load]:
    """The loads of an epoch's steps, were every resident row equally likely: an upper bound for skewed graphs.

    ``negatives``: of a batch, over its sides and chunks.
    """
    loads = []
    for step in plan.steps:
        resident = len(step.resident) * partition_rows
        edges = int(sum(bucket_counts[i, j] for i, j in step.buckets))
        full, rest = divmod(edges, batch_size)
        touched = full * distinct(resident, 2 * batch_size + negatives)
        touched += distinct(resident, 2 * rest + negatives) if rest else 0
        loads.append(Load(touched, len(step.load) * partition_rows))
    return loads


def node_loads(plan: EpochPlan, nodes: Sequence[int], partition_rows: int, batch_size: int, reached: int) -> list[Load]:
    """The loads of steps that train so many ``nodes`` each, in batches of which each reaches ``reached`` rows at most."""
    loads = []
    for step, count in zip(plan.steps, nodes, strict=True):
        touched = distinct(len(step.resident) * partition_rows, reached) * -(-count // batch_size)
        loads.append(Load(touched, len(step.load) * partition_rows))
    return loads


def distinct(rows: int, places: int) -> float:
    """How many of ``rows`` equally likely rows ``places`` draws are expected to touch."""
    return float(-rows * np.expm1(places * np.log1p(-1 / rows))) if rows > 1 else 1.0


def seconds(rates: Rates, loads: Sequence[Load]) -> dict[str, float]:
    """What each path takes for these steps, were nothing else to do."""
    touched, moved = sum(load.touched for load in loads), sum(load.moved for load in loads)
    return {"zero_copy": touched * rates.zero_copy, "staged": touched * rates.staged,
            "bulk": touched * rates.held + moved * rates.partition}


def choose(rates: Rates, loads: Sequence[Load], mirror_bytes: int, free_bytes: int) -> Choice:
    """The path that takes least; bulk only where the whole buffer fits the device's memory beside the batches."""
    taken = seconds(rates, loads)
    told = ", ".join(f"{path} {value:.3g} s" for path, value in taken.items())
    if mirror_bytes > free_bytes:
        del taken["bulk"]
        told += f" (but the buffer's {mirror_bytes:,} bytes exceed the {free_bytes:,} left in storage.device_memory)"
    return Choice(min(taken, key=lambda path: taken[path]), f"an epoch's rows would travel in: {told}")
