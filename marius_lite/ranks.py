"""Say how well numbers rank those that have something before those that have not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

AT_ONCE = 1 << 16
"""How many numbers of those that have it are looked up at a time."""

Values = npt.NDArray[np.floating[Any]]


def roc_auc(positive: Values, negative: Values) -> float:
    """Return the chance that a positive is above a negative. Ties count half. Both arrays ascend, and neither is empty."""
    wins = sum(int(np.searchsorted(negative, part, side).sum()) for part in _chunks(positive) for side in ("left", "right"))
    return wins / (2 * len(positive) * len(negative))


def average_precision(positive: Values, negative: Values) -> float:
    """Return the mean over positives of the share of positives among all that are not lower.

    Both arrays ascend, and neither is empty.
    """
    total = 0.0
    for part in _chunks(positive):
        right = len(positive) - np.searchsorted(positive, part)
        total += float((right / (right + len(negative) - np.searchsorted(negative, part))).sum())
    return total / len(positive)


def _chunks(values: Values) -> Iterator[Values]:
    return (values[start : start + AT_ONCE] for start in range(0, len(values), AT_ONCE))
