"""Make the plan of an epoch: which partitions are resident at each step, and which buckets are trained meanwhile.

A plan depends on (ordering, partitions, capacity, seed, epoch) alone. So it is known before any I/O, and the trainer, the
prefetcher, `plan` and resume all read the same one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from marius_lite.errors import UserError
from marius_lite.ordering import clusters, node_classification
from marius_lite.ordering.beta import BETA
from marius_lite.ordering.comet import COMET
from marius_lite.ordering.in_memory import IN_MEMORY
from marius_lite.ordering.schedule import Ordering
from marius_lite.seeds import generator_for
from marius_lite.types import EpochPlan, Step

ORDERINGS: dict[str, Ordering] = {"in_memory": IN_MEMORY, "beta": BETA, "comet": COMET}
"""The orderings of link prediction, by the name in `storage.ordering`."""
NODE_ORDERINGS: dict[str, Callable[[int, int, int, np.random.Generator], node_classification.Turns]] = {
    "node_classification": node_classification.order,
    "clusters": clusters.order,
}
"""The orderings of node classification, by the name there: functions of (partitions, capacity, training, generator)."""


def make_plan(ordering: str, partitions: int, capacity: int, run_seed: int, epoch: int) -> EpochPlan:
    """Make the plan of one epoch. The same arguments give the same plan. Every epoch draws a new permutation.

    ``capacity``: partitions that are resident at the same time; spare slots for prefetching (`spare_slots`) are not counted. A
    step may have no buckets. Raises UserError for an unknown ordering or a capacity that cannot work.
    """
    check(ordering, partitions, capacity)
    rng = generator_for(run_seed, f"ordering/{ordering}", epoch)
    schedule = ORDERINGS[ordering].order(partitions, capacity, rng)
    shuffled = rng.permutation(len(schedule.buckets))
    by_step = shuffled[np.argsort(schedule.step_of[shuffled], kind="stable")]
    ends = np.cumsum(np.bincount(schedule.step_of, minlength=len(schedule.residents)))
    buckets = [(source, destination) for source, destination in schedule.buckets[by_step].tolist()]
    steps, before, start = [], frozenset[int](), 0
    for index, (state, end) in enumerate(zip(schedule.residents, ends.tolist())):
        now = frozenset(state)
        steps.append(
            Step(index, tuple(sorted(now)), tuple(sorted(now - before)), tuple(sorted(before - now)), tuple(buckets[start:end]))
        )
        before, start = now, end
    return EpochPlan(ordering, partitions, capacity, epoch, tuple(steps))


def make_node_plan(ordering: str, partitions: int, capacity: int, training: int, run_seed: int, epoch: int) -> EpochPlan:
    """Make the plan of an epoch that classifies nodes. Training nodes are in the first ``training`` partitions.

    The same arguments give the same plan. Raises UserError for a capacity that cannot work.
    """
    check_node_capacity(partitions, capacity)
    rng = generator_for(run_seed, f"ordering/{ordering}", epoch)
    steps, before = [], frozenset[int]()
    for index, (resident, targets) in enumerate(NODE_ORDERINGS[ordering](partitions, capacity, training, rng)):
        now = frozenset(resident)
        steps.append(Step(index, tuple(sorted(now)), tuple(sorted(now - before)), tuple(sorted(before - now)), targets=targets))
        before = now
    return EpochPlan(ordering, partitions, capacity, epoch, tuple(steps))


def choose(partitions: int, capacity: int) -> str:
    """Return the ordering that `storage.ordering: auto` means in link prediction."""
    return "in_memory" if capacity >= partitions else "comet"


def spare_slots(ordering: str, partitions: int, capacity: int) -> int:
    """Return how many slots are needed beyond the capacity, so that every load inside an epoch can be prefetched.

    This is the largest number of partitions that a step of any epoch loads after another step.
    """
    check(ordering, partitions, capacity)
    return 0 if capacity == partitions else ORDERINGS[ordering].most_loaded(partitions, capacity)


def needs_all(ordering: str) -> bool:
    """Return whether ``ordering`` only works with every partition resident. It may be auto, which does not."""
    return ordering in ORDERINGS and ORDERINGS[ordering].whole


def check(ordering: str, partitions: int, capacity: int) -> None:
    """Raise UserError, which names the key, where these values make no plan."""
    if ordering not in ORDERINGS:
        raise UserError(f"`storage.ordering` is {ordering!r}: choose one of {', '.join(ORDERINGS)}")
    if capacity > partitions:
        raise UserError(
            f"`storage.capacity` is {capacity}, but the dataset has {partitions} partitions: "
            f"give at most {partitions} (all resident), or auto"
        )
    if capacity < min(2, partitions):
        raise UserError(
            f"`storage.capacity` is {capacity}: an edge between two partitions needs both resident, "
            f"give {'2' if partitions == 2 else f'2 to {partitions}'}, or auto"
        )
    if needs_all(ordering) and capacity < partitions:
        others = " or ".join(name for name in ORDERINGS if not needs_all(name))
        raise UserError(
            f"`storage.ordering` is {ordering}, but `storage.capacity` {capacity} is less than the dataset's "
            f"{partitions} partitions: leave the capacity out, or choose {others}"
        )


def check_node_capacity(partitions: int, capacity: int) -> None:
    """Raise UserError where no plan that classifies nodes has this capacity."""
    if not 1 <= capacity <= partitions:
        raise UserError(
            f"`storage.capacity` is {capacity}, but the dataset has {partitions} partitions: give 1 to {partitions}, or auto"
        )
