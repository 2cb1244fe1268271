"""What an ordering is: which partitions are resident at each step, and which step trains each bucket."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Schedule(NamedTuple):
    """``residents[t]`` are the partitions of step t; bucket ``buckets[b]`` (source, destination) belongs to
    step ``step_of[b]``. Shapes: buckets (p*p, 2), step_of (p*p,), int64."""

    residents: list[tuple[int, ...]]
    buckets: npt.NDArray[np.int64]
    step_of: npt.NDArray[np.int64]


def one_partition(partitions: int, capacity: int) -> int:
    return 1


@dataclass(frozen=True)
class Ordering:
    """``order``: a function of (partitions, capacity, generator), drawn afresh for each epoch. ``most_loaded``: the largest
    number of partitions that any transition inside an epoch loads, of (partitions, capacity). ``whole``: only for a buffer
    that holds every partition."""

    order: Callable[[int, int, np.random.Generator], Schedule]
    most_loaded: Callable[[int, int], int] = one_partition
    whole: bool = False


def all_buckets(partitions: int) -> npt.NDArray[np.int64]:
    """Every (source, destination) pair in flat order i*p + j, shape (p*p, 2)."""
    return np.stack(np.divmod(np.arange(partitions * partitions), partitions), axis=1)
