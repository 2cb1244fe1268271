"""Keep a curve of any length in bounded memory: stretches of points, each with its least, its largest and its mean value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

MOST = 512
"""Stretches that a curve has, at most."""

Numbers = npt.NDArray[np.float64]


class Curve(NamedTuple):
    """Stretches of a curve, (n,) each. ``place``, ``time``: where and when a stretch's last point is."""

    place: Numbers
    time: Numbers
    low: Numbers
    mean: Numbers
    high: Numbers


class Thinned:
    """A curve that grows. No value is left out: each is within the bounds of its stretch, and counts in its mean.

    All stretches but the last have the same number of points. Whenever there are MOST of them, neighbours are joined.
    """

    def __init__(self) -> None:
        self._width = 1
        self._done = np.empty((5, 0))
        self._waiting = np.empty((3, 0))

    def add(self, place: npt.ArrayLike, time: npt.ArrayLike, value: npt.ArrayLike) -> None:
        """Add points: places and times, which ascend, and values; (n,) each, or numbers."""
        points = np.concatenate(
            [self._waiting, np.stack([np.atleast_1d(np.asarray(each, float)) for each in (place, time, value)])], 1
        )
        while points.shape[1] >= self._width:
            count = min(points.shape[1] // self._width, MOST - self._done.shape[1])
            self._done = np.concatenate([self._done, _stretches(points[:, : count * self._width], self._width)], 1)
            points = points[:, count * self._width :]
            if self._done.shape[1] == MOST:
                self._done, self._width = _joined(self._done), 2 * self._width
        self._waiting = points

    def curve(self) -> Curve:
        """Return the stretches so far."""
        rest = self._waiting
        last = _stretches(rest, rest.shape[1]) if rest.shape[1] else np.empty((5, 0))
        return Curve(*np.concatenate([self._done, last], 1))


def _stretches(points: Numbers, width: int) -> Numbers:
    """Return the stretches, (5, n), of points (3, n * width)."""
    place, time, value = points.reshape(3, -1, width)
    return np.stack([place[:, -1], time[:, -1], value.min(1), value.mean(1), value.max(1)])


def _joined(stretches: Numbers) -> Numbers:
    """Join each two neighbours of an even number of stretches, which have equal numbers of points."""
    place, time, low, mean, high = stretches.reshape(5, -1, 2)
    return np.stack([place[:, 1], time[:, 1], low.min(1), mean.mean(1), high.max(1)])
