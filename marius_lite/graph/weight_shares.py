"""Turn the weights of edges into shares: how often each is trained beside the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError

MOST = 10
"""How many times the mean an edge counts at most: one of a huge weight would be most of an epoch."""
ROUNDS = 30
"""How often what is above is cut, at most, each time by the mean of what is left."""
AT_ONCE = 1 << 16
"""Edges whose shares are summed at a time."""
ROOTS = {1.0: 0, 0.5: 1, 0.25: 2}
"""How many square roots make a power. They have the same bits on every processor, which powers have not."""
LARGEST = float(np.finfo(np.float32).max)
Floats = npt.NDArray[np.float32]


def shares(weights: Floats, power: float) -> Floats:
    """Turn finite weights, where they are, into what edges count: weight ** power, at most `MOST` times the mean. Returns them.

    Weights below 0 count 0. Of negative powers a weight of 0 counts most. Where none counts, all count alike. Raises UserError.
    """
    if not np.isfinite([weights.min(initial=0), weights.max(initial=0)]).all():
        raise UserError(
            "edges have weights that are not finite, but `training.weight_power` is not 0: set it to 0, so that all edges count "
            "alike, or preprocess edges with finite weights"
        )
    largest = np.flatnonzero(weights == 0).astype(np.uint32) if power < 0 else np.empty(0, np.uint32)
    np.maximum(weights, 0, out=weights)
    for _ in range(ROOTS[abs(power)]):
        np.sqrt(weights, out=weights)
    if power < 0:
        with np.errstate(over="ignore"):
            np.divide(1, weights, out=weights, where=weights > 0)
        np.minimum(weights, LARGEST, out=weights)
    top = min(MOST * _mean(weights), LARGEST)
    for _ in range(ROUNDS):
        if weights.max(initial=0) <= top:
            break
        np.minimum(weights, np.float32(top), out=weights)
        top = min(MOST * _mean(weights), LARGEST)
    weights[largest] = top
    if not weights.any():
        weights.fill(1)
    return weights


def running(shares: Floats) -> Iterator[tuple[slice, npt.NDArray[np.float64]]]:
    """Yield stretches of shares with the sum up to each of them, in one order on every machine."""
    before = 0.0
    for part in parts(len(shares)):
        ends = shares[part].astype(np.float64)
        ends[0] += before
        np.cumsum(ends, out=ends)
        before = float(ends[-1])
        yield part, ends


def parts(count: int) -> Iterator[slice]:
    return (slice(start, start + AT_ONCE) for start in range(0, count, AT_ONCE))


def _mean(values: Floats) -> float:
    """Return the mean, summed in one order on every machine."""
    total = 0.0
    for _, ends in running(values):
        total = float(ends[-1])
    return total / max(1, len(values))
