"""What scores of classes say: how probable a class is, and, where a node may have several, which it is given.

Both are fitted on nodes whose classes are known, and that were not trained.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from marius_lite.evaluate.platt import AS_THEY_ARE, PlattScaling, fit_platt
from marius_lite.evaluate.temperature import fit_temperature

Scores = npt.NDArray[np.float32]


class Calibration(NamedTuple):
    """``scaling``: makes of scores log odds, or, where a node has one class, what their softmax is taken of.

    ``least``: the score from which on a node is given a class, where it may have several. As it is, nothing was fitted.
    """

    scaling: PlattScaling = AS_THEY_ARE
    least: float = 0.0

    @property
    def given_from(self) -> float:
        """The probability of a class whose score is ``least``."""
        return float(self.scaling.probability(np.array([self.least], np.float32))[0])


UNFITTED = Calibration()


def of_one_class(scores: Scores, labels: npt.NDArray[np.int64]) -> Calibration:
    """Return the calibration of finite ``scores`` (n, classes) of nodes with classes ``labels`` (n,). The answers stay."""
    return Calibration(PlattScaling(fit_temperature(scores, labels), 0.0))


def of_several_classes(scores: Scores, labels: npt.NDArray[np.int8]) -> Calibration:
    """Return the calibration of finite ``scores`` (n, classes) of nodes with ``labels`` (n, classes), 0 or 1.

    One for all classes: Platt scaling, and the score from which on answers have the highest micro F1. Where nodes do not both
    have and lack classes, nothing is fitted.
    """
    true, false = scores[labels == 1], scores[labels == 0]
    if not len(true) or not len(false):
        return UNFITTED
    return Calibration(fit_platt(true, false), best_threshold(true, false))


def best_threshold(true: Scores, false: Scores) -> float:
    """Return the score from which on to say yes for the highest F1: midway between two scores, or the lowest one.

    ``true``: scores of cases where yes is right, at least one. ``false``: of others.
    """
    scores = np.concatenate([true, false]).astype(np.float64)
    order = np.argsort(-scores, kind="stable")
    scores, right = scores[order], np.cumsum(order < len(true))
    last = np.flatnonzero(np.append(scores[1:] < scores[:-1], True))  # of equal scores
    best = last[np.argmax(2 * right[last] / (len(true) + last + 1))]
    return float(scores[best : best + 2].mean())
