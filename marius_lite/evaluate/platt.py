"""Turn scores into probabilities by logistic regression of one number.

After J. Platt, "Probabilistic outputs for support vector machines" (1999): his targets, which are not quite 0 and 1, keep the fit
finite where scores part the classes. Fitted by Newton's method with backtracking, after Lin, Lin and Weng, "A note on Platt's
probabilistic outputs for support vector machines" (2007).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Scores = npt.NDArray[np.float32] | Numbers
ROUNDS, CLOSE = 100, 1e-10


class PlattScaling(NamedTuple):
    """The log odds of a score s are ``slope`` * s + ``offset``. The slope is not negative: higher scores are not less likely."""

    slope: float
    offset: float

    def odds(self, scores: Scores) -> Numbers:
        """Return the log odds of each of the finite ``scores``, of any shape."""
        return self.slope * scores.astype(np.float64) + self.offset

    def probability(self, scores: Scores) -> Numbers:
        """Return the probability of each of the finite ``scores``, of any shape."""
        return _logistic(self.odds(scores))


AS_THEY_ARE = PlattScaling(1.0, 0.0)
"""Scores are log odds themselves."""


def fit_platt(true: Scores, false: Scores) -> PlattScaling:
    """Return the most likely scaling for the scores of true cases (n,) and of false ones (m,), each at least one.

    Where higher scores are not more likely, the slope is 0, and every probability is the share of the true cases.
    """
    scores, n, m = np.concatenate([true, false]).astype(np.float64), len(true), len(false)
    share = PlattScaling(0.0, float(np.log(n / m)))
    if scores.min() == scores.max():
        return share
    targets = np.repeat([(n + 1) / (n + 2), 1 / (m + 2)], [n, m])
    middle, spread = scores.mean(), scores.std()  # shifted and scaled, so that both weights are about as large
    slope, offset = _descended(np.stack([(scores - middle) / spread, np.ones(n + m)]), targets)
    return PlattScaling(float(slope / spread), float(offset - slope * middle / spread)) if slope > 0 else share


def _descended(points: Numbers, targets: Numbers) -> Numbers:
    """Return the weights (2,) of ``points`` (2, n) with the least loss, as far as rounding lets it be lowered."""
    weights = np.array([0.0, np.log(targets.mean() / (1 - targets.mean()))])
    loss = _loss(weights @ points, targets)
    for _ in range(ROUNDS):
        chances = _logistic(weights @ points)
        gradient = points @ (chances - targets) / len(targets)
        curvature = points * (chances * (1 - chances)) @ points.T / len(targets) + CLOSE * np.eye(2)
        step, part = np.linalg.solve(curvature, gradient), 1.0
        while part > CLOSE and _loss((weights - part * step) @ points, targets) > loss - 1e-4 * part * float(gradient @ step):
            part /= 2
        lowered = _loss((weights - part * step) @ points, targets)
        if lowered >= loss:
            break
        weights, loss = weights - part * step, lowered
    return weights


def _loss(odds: Numbers, targets: Numbers) -> float:
    return float((np.logaddexp(0, odds) - targets * odds).mean())


def _logistic(odds: Numbers) -> Numbers:
    small = np.exp(-np.abs(odds))
    chances: Numbers = np.where(odds >= 0, 1.0, small) / (1 + small)
    return chances
