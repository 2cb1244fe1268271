"""Change learning rates while a run trains: one factor for all of them, the same for every run of a configuration."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from marius_lite.config.optimizer_sections import ScheduleSection


class Rated(Protocol):
    """An optimizer. ``rate`` multiplies its learning rates from the next step on."""

    rate: float


def factor(schedule: ScheduleSection, epochs: int, done: float, ahead: float, drops: int) -> float:
    """Return the factor for the next edges. They follow ``done`` epochs and are ``ahead`` of an epoch, of ``epochs`` in all.

    ``drops``: how many plateaus there have been. In the warmup the factor rises with what will be done when these edges end, so
    that it is never 0.
    """
    warm = min(1.0, (done + ahead) / schedule.warmup) if schedule.warmup else 1.0
    return warm * max(schedule.lowest, SHAPES[schedule.name](schedule, min(1.0, done / epochs), drops))


SHAPES: dict[str, Callable[[ScheduleSection, float, int], float]] = {
    "constant": lambda schedule, share, drops: 1.0,
    "linear": lambda schedule, share, drops: 1.0 - share,
    "cosine": lambda schedule, share, drops: (1 + math.cos(math.pi * share)) / 2,
    "plateau": lambda schedule, share, drops: schedule.factor**drops,
}
