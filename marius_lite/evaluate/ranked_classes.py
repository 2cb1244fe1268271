"""Compute ROC AUC and average precision of each class, exactly, with the scores of one class in memory at a time.

A class is compared with all others, or with its absence where nodes may have several classes. Nodes are ranked by the logarithm
of the odds, log p - log (1 - p). It orders nodes as the probability p does, but does not round to 1 where the model is sure. It
is kept as float32, in a file without a name.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.ranks import average_precision, roc_auc

Values = npt.NDArray[np.float32]


class Odds:
    """Collects the scores of at most ``nodes`` nodes and their ``classes``. Its file is in ``folder`` until the block ends."""

    def __init__(self, nodes: int, classes: int, folder: Path):
        self._nodes, self._classes = nodes, classes
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 closed by __exit__
        self._labels = np.empty(nodes, np.int32)
        self._count = 0

    def __enter__(self) -> Odds:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def add(self, scores: Values, labels: npt.NDArray[Any]) -> None:
        """Add the scores (n, classes), which must be finite, and the labels (n,) of further nodes."""
        if self._classes > 1:
            self._write(0, log_odds(scores))
        self._labels[self._count : self._count + len(labels)] = labels
        self._count += len(labels)

    def _write(self, begin: int, values: npt.NDArray[Any]) -> None:
        """Write ``values`` (n, classes) of further nodes, class by class, into the part of the file that begins at ``begin``."""
        for c, column in enumerate(np.ascontiguousarray(values.T)):
            _write(self._file.fileno(), column.tobytes(), begin + values.itemsize * (c * self._nodes + self._count))

    def _read(self, begin: int, dtype: npt.DTypeLike, c: int) -> npt.NDArray[Any]:
        """Read what was written of class c into the part of the file that begins at ``begin``."""
        width = np.dtype(dtype).itemsize
        self._file.seek(begin + width * c * self._nodes)
        return np.frombuffer(self._file.read(width * self._count), dtype)  # numpy.fromfile would return less and raise nothing

    def _have(self, c: int) -> npt.NDArray[np.bool_]:
        """Return for each node whether it has class c."""
        return np.asarray(self._labels[: self._count] == c)

    def each(self) -> Iterator[tuple[int, float, float]]:
        """Yield (class, ROC AUC, average precision) of each class that some nodes have and others have not."""
        for c in range(self._classes):
            have = self._have(c)
            if 0 < have.sum() < self._count:
                odds = self._read(0, np.float32, c)
                positive, negative = odds[have], odds[~have]
                positive.sort()
                negative.sort()
                yield c, roc_auc(positive, negative), average_precision(positive, negative)

    def means(self) -> tuple[float | None, float | None]:
        """Return (ROC AUC, average precision): of the rarer class where there are two, else the means over classes.

        They are None where no class can be compared. The frequent one of two classes has a high precision whatever is answered.
        """
        rarer = int(np.count_nonzero(self._have(1)) <= np.count_nonzero(self._have(0))) if self._classes == 2 else None
        return means([(auc, precision) for c, auc, precision in self.each() if rarer in (None, c)])


class MultiLabelOdds(Odds):
    """Does the same where nodes may have several classes. The score of a class is its log odds. Labels follow the scores in the
    file."""

    def add(self, scores: Values, labels: npt.NDArray[Any]) -> None:
        """Add the scores (n, classes), which must be finite, and the labels (n, classes), 0 or 1, of further nodes."""
        self._write(0, scores)
        self._write(self._behind, labels.astype(np.int8, copy=False))
        self._count += len(labels)

    def _have(self, c: int) -> npt.NDArray[np.bool_]:
        return np.asarray(self._read(self._behind, np.int8, c) == 1)

    @property
    def _behind(self) -> int:
        return 4 * self._classes * self._nodes


def means(found: Sequence[tuple[float, float]]) -> tuple[float | None, float | None]:
    """Return the means of the first and of the second numbers of pairs. None where there are no pairs."""
    if not found:
        return None, None
    first, second = np.mean(found, 0).tolist()
    return first, second


def log_odds(scores: Values) -> Values:
    """Return log p - log (1 - p), where p is the softmax of the scores (n, classes) of at least two classes."""
    exact = scores.astype(np.float64)
    rows, first = np.arange(len(exact)), exact.argmax(1)
    rest = exact.copy()
    rest[rows, first] = -np.inf
    highest, second = exact[rows, first], rest.max(1)
    shares = np.exp(exact - highest[:, None])
    others = shares.sum(1, keepdims=True) - shares  # at least 1, but for the highest class: its others may round to nothing
    others[rows, first] = 1
    odds = exact - highest[:, None] - np.log(others)
    odds[rows, first] = highest - second - np.log(np.exp(rest - second[:, None]).sum(1))
    return np.asarray(odds, np.float32)


def _write(file: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, at)
        view, at = view[written:], at + written
