"""A step from a point of the search space: one or two of its settings change, the others stay.

A search that has time for ten trials learns little about a space of nine settings, and a preset is a good point of it. So half of
the trials look around the best point so far, as local searches from a given start do (CFO: Wu, Wang and Huang, AAAI 2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from marius_lite.tune.space import Choices, Space, Span

MOST_CHANGES = 2
"""So many settings change at most. Of one alone it is known what it does, but two may only help together."""
FACTOR = 3.0
"""A setting that is drawn by its logarithm changes at most by this factor."""
PART = 0.25
"""Another number changes at most by this part of its span."""


def step(space: Space, point: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Return the point with one or two settings changed; the same point where the space has no other."""
    free = [key for key, searched in space.items() if not isinstance(searched, Choices) or len(searched.values) > 1]
    count = min(len(free), int(rng.integers(1, MOST_CHANGES + 1)))
    changed = [free[place] for place in sorted(rng.choice(len(free), count, replace=False))] if count else []
    return {**point, **{key: _changed(space[key], point[key], rng) for key in changed}}


def _changed(searched: Choices | Span, value: Any, rng: np.random.Generator) -> Any:
    if isinstance(searched, Choices):
        others = [each for each in searched.values if each != value]
        return others[int(rng.integers(len(others)))]
    draw = rng.uniform(-1, 1)
    moved = value * FACTOR**draw if searched.log else value + draw * PART * (searched.high - searched.low)
    if searched.whole:
        moved = round(moved) if round(moved) != value else value + (1 if draw > 0 else -1)
    return min(max(moved, searched.low), searched.high)
