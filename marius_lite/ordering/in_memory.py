"""Everything resident: one step with every bucket."""

from __future__ import annotations

import numpy as np

from marius_lite.ordering.schedule import Ordering, Schedule, all_buckets


def order(partitions: int, capacity: int, rng: np.random.Generator) -> Schedule:
    """One step, whose capacity is all partitions."""
    buckets = all_buckets(partitions)
    return Schedule([tuple(range(partitions))], buckets, np.zeros(len(buckets), np.int64))


IN_MEMORY = Ordering(order, whole=True)
