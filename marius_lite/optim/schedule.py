"""How learning rates change while a run trains: a factor of all of them, the same for every run of a configuration."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from marius_lite.config.schema import ScheduleSection


class Rated(Protocol):
    """Something with learning rates: ``rate`` multiplies them from its next step on."""

    rate: float


def factor(schedule: ScheduleSection, epochs: int, done: float, ahead: float, drops: int) -> float:
    """The factor of edges that follow ``done`` epochs and are the next ``ahead`` of one, of ``epochs`` in all.

    ``drops``: how often evaluations stayed without a better one, so far. Warming up, the factor rises in proportion to what
    will be done at the end of these edges, so that it is never 0.
    """
    warm = min(1.0, (done + ahead) / schedule.warmup) if schedule.warmup else 1.0
    return warm * max(schedule.lowest, SHAPES[schedule.name](schedule, min(1.0, done / epochs), drops))


SHAPES: dict[str, Callable[[ScheduleSection, float, int], float]] = {
    "constant": lambda schedule, share, drops: 1.0,
    "linear": lambda schedule, share, drops: 1.0 - share,
    "cosine": lambda schedule, share, drops: (1 + math.cos(math.pi * share)) / 2,
    "plateau": lambda schedule, share, drops: schedule.factor**drops,
}
