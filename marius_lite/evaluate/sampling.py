"""Draw numbers without replacement from a range that is too large for an array."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def distinct(population: int, count: int, generator: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return ``count`` different integers of [0, population), ascending. Every set of them is equally likely.

    Memory grows with ``count`` only. Raises ValueError where count > population.
    """
    if count > population:
        raise ValueError(f"{count} different numbers below {population}")
    if 2 * count > population:
        return np.sort(generator.permutation(population)[:count])
    chosen = np.empty(0, np.int64)
    while len(chosen) < count:
        chosen = np.union1d(chosen, generator.integers(population, size=count - len(chosen)))
    return chosen
