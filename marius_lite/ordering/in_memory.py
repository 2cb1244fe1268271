"""The ordering where every partition is resident: one step with every bucket."""

from __future__ import annotations

import numpy as np

from marius_lite.ordering.schedule import Ordering, Schedule, all_buckets


def order(partitions: int, capacity: int, rng: np.random.Generator) -> Schedule:
    """Return one step with all partitions and all buckets."""
    buckets = all_buckets(partitions)
    return Schedule([tuple(range(partitions))], buckets, np.zeros(len(buckets), np.int64))


IN_MEMORY = Ordering(order, whole=True)
