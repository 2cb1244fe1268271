"""When a partition last left the buffer: told by the plans alone, so that a resumed run finds the same."""

from __future__ import annotations

from collections.abc import Callable

from marius_lite.types import EpochPlan

NEVER = (-1, 0)


def last_left(plan_of: Callable[[int], EpochPlan], epoch: int, step: int, partition: int) -> tuple[int, int]:
    """(epoch, step) at whose beginning ``partition``, not resident at that step, was given up; NEVER if it never was in.

    Every partition is resident in some step of each epoch, so two plans are looked at, at most.
    """
    for at in range(epoch, max(epoch - 2, -1), -1):
        steps = plan_of(at).steps
        before = plan_of(at - 1).steps[-1].resident if at > 0 else ()
        residents = [before, *(s.resident for s in steps)]
        for index in range(step if at == epoch else len(steps) - 1, -1, -1):
            if partition in residents[index] and partition not in residents[index + 1]:
                return at, index
    return NEVER
