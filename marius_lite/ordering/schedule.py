"""The description of an ordering: which partitions are resident at each step, and which step trains each bucket."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Schedule(NamedTuple):
    """The steps of an epoch.

    ``residents[t]``: the partitions of step t. ``buckets``: all (source, destination) pairs, (p * p, 2) int64. ``step_of[b]``:
    the step that trains bucket b, (p * p,) int64.
    """

    residents: list[tuple[int, ...]]
    buckets: npt.NDArray[np.int64]
    step_of: npt.NDArray[np.int64]


def one_partition(partitions: int, capacity: int) -> int:
    """Return 1, for orderings that load one partition at a time."""
    return 1


@dataclass(frozen=True)
class Ordering:
    """An ordering.

    ``order``: a function of (partitions, capacity, generator) that draws the schedule of an epoch. ``most_loaded``: a function of
    (partitions, capacity): the most partitions that a step loads after another step of the epoch. ``whole``: whether it needs
    every partition resident.
    """

    order: Callable[[int, int, np.random.Generator], Schedule]
    most_loaded: Callable[[int, int], int] = one_partition
    whole: bool = False


def all_buckets(partitions: int) -> npt.NDArray[np.int64]:
    """Return every (source, destination) pair in the order i * p + j, shape (p * p, 2)."""
    return np.stack(np.divmod(np.arange(partitions * partitions), partitions), axis=1)
