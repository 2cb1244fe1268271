"""ROC AUC and average precision of each class against all others: exact, with the scores of one class in memory at a time.

What ranks nodes for a class is the log of its odds, log p - log (1 - p): of the same order as its probability p, but unlike p it
does not round to 1 where the model is sure. It is kept as float32, in a file without a name.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

CHUNK = 1 << 16
"""Positives looked up at a time."""

Values = npt.NDArray[np.float32]


class Odds:
    """Of at most ``nodes`` nodes and their ``classes``; the file lies in ``folder`` and goes when the block ends."""

    def __init__(self, nodes: int, classes: int, folder: Path):
        self._nodes, self._classes = nodes, classes
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 closed by __exit__
        self._labels = np.empty(nodes, np.int32)
        self._count = 0

    def __enter__(self) -> Odds:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def add(self, scores: Values, labels: npt.NDArray[np.int64]) -> None:
        """Take the scores (n, classes), finite, and the labels (n,) of further nodes."""
        for c, column in enumerate(np.ascontiguousarray(log_odds(scores).T) if self._classes > 1 else ()):
            _write(self._file.fileno(), column.tobytes(), 4 * (c * self._nodes + self._count))
        self._labels[self._count : self._count + len(labels)] = labels
        self._count += len(labels)

    def each(self) -> Iterator[tuple[int, float, float]]:
        """(class, ROC AUC, average precision) of each class that some nodes have and others have not."""
        labels = self._labels[: self._count]
        for c in range(self._classes):
            have = labels == c
            if 0 < have.sum() < self._count:
                self._file.seek(4 * c * self._nodes)
                odds = np.frombuffer(self._file.read(4 * self._count), np.float32)  # raises where numpy.fromfile reads less
                positive, negative = odds[have], odds[~have]
                positive.sort()
                negative.sort()
                yield c, roc_auc(positive, negative), average_precision(positive, negative)

    def means(self) -> tuple[float | None, float | None]:
        """(ROC AUC, average precision): of class 1 where there are two classes, else the means over classes; None where there
        are none to compare."""
        found = [values for c, *values in self.each() if self._classes > 2 or c == 1]
        if not found:
            return None, None
        auc, precision = np.mean(found, 0).tolist()
        return auc, precision


def log_odds(scores: Values) -> Values:
    """log p - log (1 - p), p = softmax of the scores (n, classes) of at least two classes."""
    exact = scores.astype(np.float64)
    rows, first = np.arange(len(exact)), exact.argmax(1)
    rest = exact.copy()
    rest[rows, first] = -np.inf
    highest, second = exact[rows, first], rest.max(1)
    shares = np.exp(exact - highest[:, None])
    others = shares.sum(1, keepdims=True) - shares  # at least 1, but for the first class, whose others may all but vanish
    others[rows, first] = 1
    odds = exact - highest[:, None] - np.log(others)
    odds[rows, first] = highest - second - np.log(np.exp(rest - second[:, None]).sum(1))
    return np.asarray(odds, np.float32)


def roc_auc(positive: Values, negative: Values) -> float:
    """The chance that a positive stands above a negative, ties counted half; both ascend, neither is empty."""
    wins = sum(int(np.searchsorted(negative, part, side).sum()) for part in _chunks(positive) for side in ("left", "right"))
    return wins / (2 * len(positive) * len(negative))


def average_precision(positive: Values, negative: Values) -> float:
    """The mean, over positives, of the share of positives among all that stand no lower; both ascend, neither is empty."""
    total = 0.0
    for part in _chunks(positive):
        right = len(positive) - np.searchsorted(positive, part)
        total += float((right / (right + len(negative) - np.searchsorted(negative, part))).sum())
    return total / len(positive)


def _chunks(values: Values) -> Iterator[Values]:
    return (values[start : start + CHUNK] for start in range(0, len(values), CHUNK))


def _write(file: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, at)
        view, at = view[written:], at + written
