"""What an ordering decides: which partitions are resident at each step, and which step trains each bucket."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Schedule(NamedTuple):
    """``residents[t]`` are the partitions of step t; bucket ``buckets[b]`` (source, destination) belongs to
    step ``step_of[b]``. Shapes: buckets (p*p, 2), step_of (p*p,), int64."""

    residents: list[tuple[int, ...]]
    buckets: npt.NDArray[np.int64]
    step_of: npt.NDArray[np.int64]


def all_buckets(partitions: int) -> npt.NDArray[np.int64]:
    """Every (source, destination) pair in flat order i*p + j, shape (p*p, 2)."""
    return np.stack(np.divmod(np.arange(partitions * partitions), partitions), axis=1)
