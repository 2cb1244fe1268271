"""COMET: the ordering of MariusGNN (Waleffe et al., EuroSys 2023, section 5). It is more random than BETA.

Each epoch deals the partitions anew into l groups ("logical partitions") that move together, and runs BETA over the groups. Each
bucket goes to one of the steps where both its partitions are resident, uniformly at random. So no step trains nearly all buckets
of a few partitions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marius_lite.ordering.beta import beta_states, beta_swaps
from marius_lite.ordering.schedule import Ordering, Schedule, all_buckets


def order(partitions: int, capacity: int, rng: np.random.Generator) -> Schedule:
    """Return COMET with the groups of `comet_shape`."""
    groups, resident = comet_shape(partitions, capacity)
    # The order of the groups is random too, because some are larger, and BETA treats them differently.
    members = [group.tolist() for group in np.array_split(rng.permutation(partitions), groups)]
    rng.shuffle(members)
    group_of = np.empty(partitions, np.int64)
    for group, inside in enumerate(members):
        group_of[inside] = group
    states = beta_states(groups, resident)
    residents = [tuple(partition for group in state for partition in members[group]) for state in states]
    buckets = all_buckets(partitions)
    return Schedule(residents, buckets, _random_step(np.array(states), groups, group_of[buckets], rng))


def _random_step(
    states: npt.NDArray[np.int64], groups: int, pairs: npt.NDArray[np.int64], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Return for each pair of groups a step where both are resident, uniformly at random.

    Shapes: states (steps, resident) of group numbers, pairs (b, 2), the result (b,).
    """
    steps, resident = states.shape
    meetings = (states[:, :, None] * groups + states[:, None, :]).ravel()
    step_of_meeting = np.repeat(np.arange(steps), resident * resident)[np.argsort(meetings, kind="stable")]
    counts = np.bincount(meetings, minlength=groups * groups)
    starts = np.cumsum(counts) - counts
    flat = pairs[:, 0] * groups + pairs[:, 1]
    chosen: npt.NDArray[np.int64] = step_of_meeting[starts[flat] + rng.integers(counts[flat])]
    return chosen


def comet_shape(partitions: int, capacity: int) -> tuple[int, int]:
    """Return (l, c_l): the number of groups, and how many of them fit the buffer whatever their sizes (at least 2).

    The published rule is l = 2p/c with c_l = 2. Where this does not fill the buffer exactly (odd c, or groups of unequal size),
    l is the number between 2p/c and 3p/c that reads the fewest bytes.
    """
    if partitions == 1:
        return 1, 1
    if capacity % 2 == 0 and partitions % (capacity // 2) == 0:
        return 2 * partitions // capacity, 2
    fewest, most = -(-2 * partitions // capacity), min(partitions, -(-3 * partitions // capacity))
    shapes = [(l, groups_that_fit(partitions, capacity, l)) for l in range(fewest, most + 1)]
    return min((shape for shape in shapes if shape[1] >= 2), key=lambda shape: groups_read(*shape) / shape[0])


def groups_that_fit(partitions: int, capacity: int, groups: int) -> int:
    """Return how many of ``groups`` groups, whose sizes differ by at most one, always fit the buffer."""
    size, larger = divmod(partitions, groups)
    if larger and larger * (size + 1) >= capacity:
        return capacity // (size + 1)
    return min(groups, larger + (capacity - larger * (size + 1)) // size)


def groups_read(groups: int, resident: int) -> int:
    """Return the groups that are read in an epoch that starts with an empty buffer."""
    return beta_swaps(groups, resident) + resident


def largest_group(partitions: int, capacity: int) -> int:
    """Return the partitions of the largest group. They move together."""
    return -(-partitions // comet_shape(partitions, capacity)[0])


COMET = Ordering(order, largest_group)
