"""Make the softmax of scores as sure as it is right: temperature scaling.

After Guo, Pleiss, Sun and Weinberger, "On calibration of modern neural networks" (2017). Fitted by Newton's method with
backtracking. As in Platt scaling, labels are taken for not quite certain, which keeps the fit finite where all answers are right.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

ROUNDS, CLOSE = 100, 1e-10

Numbers = npt.NDArray[np.float64]


def fit_temperature(scores: npt.NDArray[np.float32], labels: npt.NDArray[np.int64]) -> float:
    """Return the factor for finite ``scores`` (n, classes) whose softmax is the likeliest for classes ``labels`` (n,).

    At least 0, which says nothing: where scores are not higher for the right classes. 1 where there are no nodes.
    """
    count, classes = scores.shape
    if not count or classes < 2:
        return 1.0
    exact = scores.astype(np.float64)
    exact -= exact.max(1, keepdims=True)
    doubt = 1 / (count + 2)
    wanted = (1 - doubt) * exact[np.arange(count), labels] + doubt * exact.mean(1)  # the mean score by the targets
    factor, (loss, slope, curvature) = 1.0, _loss(exact, wanted, 1.0)
    for _ in range(ROUNDS):
        step, part = slope / (curvature + CLOSE), 1.0
        tried = max(0.0, factor - step)
        while part > CLOSE and _loss(exact, wanted, tried)[0] > loss:
            part /= 2
            tried = max(0.0, factor - part * step)
        found = _loss(exact, wanted, tried)
        if found[0] >= loss:
            break
        factor, (loss, slope, curvature) = tried, found
    return factor


def _loss(scores: Numbers, wanted: Numbers, factor: float) -> tuple[float, float, float]:
    """Return the mean cross entropy of scores times ``factor``, and its first and second derivative by that."""
    chances = np.exp(factor * scores)
    sums = chances.sum(1)
    chances /= sums[:, None]
    mean = (chances * scores).sum(1)
    spread = (chances * scores**2).sum(1) - mean**2
    return float((np.log(sums) - factor * wanted).mean()), float((mean - wanted).mean()), float(spread.mean())
