"""Everything resident: one step with every bucket."""

from __future__ import annotations

import numpy as np

from marius_lite.errors import UserError
from marius_lite.ordering.schedule import Schedule, all_buckets


def order(partitions: int, capacity: int, rng: np.random.Generator) -> Schedule:
    """One step. Raises UserError unless all partitions fit the buffer."""
    if capacity < partitions:
        raise UserError(f"storage.capacity is {capacity} and storage.ordering is in_memory, which holds "
                        f"all {partitions} partitions: set it to {partitions}, or choose comet or beta")
    buckets = all_buckets(partitions)
    return Schedule([tuple(range(partitions))], buckets, np.zeros(len(buckets), np.int64))
