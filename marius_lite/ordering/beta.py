"""BETA: the ordering of Marius (Mohoney et al., OSDI 2021, section 4). It is close to the fewest swaps possible.

Keep c - 1 partitions resident, and pass every other one through the last slot. Then put c - 1 unfinished partitions in the place
of those that have met all others. Repeat until all pairs have met.
"""

from __future__ import annotations

import numpy as np

from marius_lite.ordering.schedule import Ordering, Schedule, all_buckets


def order(partitions: int, capacity: int, rng: np.random.Generator) -> Schedule:
    """Return BETA over a random permutation. Each bucket is trained as soon as both its partitions are resident."""
    names = rng.permutation(partitions)
    states = [names[list(state)] for state in beta_states(partitions, capacity)]
    first_met = np.full((partitions, partitions), -1, np.int64)
    for step, state in enumerate(states):
        block = np.ix_(state, state)
        first_met[block] = np.where(first_met[block] < 0, step, first_met[block])
    return Schedule([tuple(state.tolist()) for state in states], all_buckets(partitions), first_met.ravel())


BETA = Ordering(order)


def beta_states(items: int, capacity: int) -> list[tuple[int, ...]]:
    """Return the contents of the buffer after each swap, for items 0 to n - 1: 1 + beta_swaps(n, c) tuples of length c.

    Each state differs from the one before by one item. Every pair of items is together in at least one state.
    """
    buffer, disk = list(range(capacity)), list(range(capacity, items))
    states = [tuple(buffer)]
    while disk:
        for place in range(len(disk)):
            buffer[-1], disk[place] = disk[place], buffer[-1]
            states.append(tuple(buffer))
        for slot in range(min(capacity - 1, len(disk))):
            # The item evicted last comes back first: a buffer that looks one step ahead keeps it.
            buffer[slot] = disk.pop()
            states.append(tuple(buffer))
    return states


def beta_swaps(partitions: int, capacity: int) -> int:
    """Return the swaps of BETA after the first fill (OSDI 2021, equation 3)."""
    if capacity >= partitions:
        return 0
    rest = partitions - capacity
    rounds = rest // (capacity - 1)
    return rest + (rounds + 1) * rest - rounds * (rounds + 1) // 2 * (capacity - 1)


def lower_bound(partitions: int, capacity: int) -> int:
    """Return the fewest swaps, of one partition each, by which any order brings all pairs together. The first fill is not
    counted."""
    if capacity >= partitions:
        return 0
    pairs = partitions * (partitions - 1) // 2 - capacity * (capacity - 1) // 2
    return -(-pairs // (capacity - 1))
