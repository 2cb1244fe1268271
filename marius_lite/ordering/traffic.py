"""What a plan moves between disk and buffer, counted from the plan itself."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from marius_lite.types import EpochPlan


class Transition(NamedTuple):
    """Partitions read and given up on entering a step, ascending."""

    load: tuple[int, ...]
    evict: tuple[int, ...]


class Traffic(NamedTuple):
    """Partitions, or bytes, moved in an epoch."""

    read: int
    written: int


def transitions(previous_resident: Collection[int], plan: EpochPlan,
                look_ahead: bool = False) -> list[Transition]:
    """One transition a step, for a buffer that holds ``previous_resident`` when the epoch begins.

    With ``look_ahead``, what the following step needs is kept although this step does not (a buffer with
    `spare_slots` that prefetches does so). The residents at the end are those of the last step.
    """
    held, result = frozenset(previous_resident), []
    wanted = [frozenset(step.resident) for step in plan.steps]
    for index, now in enumerate(wanted):
        keep = now | wanted[index + 1] if look_ahead and index + 1 < len(wanted) else now
        result.append(Transition(tuple(sorted(now - held)), tuple(sorted(held - keep))))
        held = now | (held & keep)
    return result


def partition_traffic(previous_resident: Collection[int], plan: EpochPlan,
                      look_ahead: bool = False) -> Traffic:
    """Partitions read and written back in one epoch; what stays resident at its end is not written yet."""
    moves = transitions(previous_resident, plan, look_ahead)
    return Traffic(sum(len(move.load) for move in moves), sum(len(move.evict) for move in moves))


def bytes_per_epoch(plan: EpochPlan, partition_bytes: int, look_ahead: bool = False) -> Traffic:
    """Bytes of an epoch on its own: it starts with an empty buffer and writes everything back at its end."""
    read, evicted = partition_traffic((), plan, look_ahead)
    return Traffic(read * partition_bytes, (evicted + len(plan.steps[-1].resident)) * partition_bytes)
