"""Measure a classification by counts. Their memory grows with the classes, not with the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.errors import RunError
from marius_lite.evaluate.platt import AS_THEY_ARE, PlattScaling

MATRIX = 256
"""The most classes for a confusion matrix."""


class ClassCounts:
    """Counts for each class how many nodes have it, how many were given it, and how many both. Batches change nothing.

    ``classes``: how many there are. ``scaling``: makes of scores what their softmax is taken of; no answer follows from it. A
    label below 0 means no label: such nodes are left out.
    """

    def __init__(self, classes: int, scaling: PlattScaling = AS_THEY_ARE):
        self.classes, self._scaling = classes, scaling
        self._labelled, self._predicted, self._right = (np.zeros(classes, np.int64) for _ in range(3))
        self._pairs = np.zeros(classes * classes if classes <= MATRIX else 0, np.int64)
        self._loss = 0.0

    def add(self, scores: npt.NDArray[np.float32], labels: npt.NDArray[np.int64]) -> None:
        """Count nodes by their ``scores`` (n, classes) and ``labels`` (n,). The answer is the class with the highest score, the
        first of equal ones.

        Raises RunError for a score that is not finite, ValueError for a label that is no class.
        """
        given = labels >= 0
        scores, labels = scores[given], labels[given]
        if not np.isfinite(scores).all():
            raise RunError("a class score is not a number: the model has diverged, train it with lower learning rates")
        if labels.max(initial=0) >= self.classes:
            raise ValueError(f"found class {labels.max()}, there are {self.classes}")
        answers = scores.argmax(1)
        for counts, of in ((self._labelled, labels), (self._predicted, answers), (self._right, labels[labels == answers])):
            counts += np.bincount(of, minlength=self.classes)
        if len(self._pairs):
            self._pairs += np.bincount(labels * self.classes + answers, minlength=len(self._pairs))
        self._loss -= float(log_probabilities(self._scaling.odds(scores))[np.arange(len(labels)), labels].sum())

    def per_class(self, names: Sequence[str]) -> dict[str, dict[str, float | int | None]]:
        """Return {"f1", "precision", "recall", "count"} of each class that occurs, by name. ``count``: nodes that have it."""
        each = zip(names, self._labelled.tolist(), self._predicted.tolist(), self._right.tolist())
        return {
            name: {
                "f1": 2 * right / (labelled + predicted),
                "precision": right / predicted if predicted else None,
                "recall": right / labelled if labelled else None,
                "count": labelled,
            }
            for name, labelled, predicted, right in each
            if labelled + predicted
        }

    def summary(self, split: str) -> dict[str, Any]:
        """Return {"split", "accuracy", "macro_f1", "micro_f1", "log_loss", "count", "classes"}, ready for JSON.

        The F1 of a class is 2 right / (labelled + answered). Macro-F1 is its mean over the classes that occur, as label or as
        answer. Micro-F1 is the F1 of the sums, which is the accuracy where each node has one class. Log loss is the mean of -log
        of the probability of a node's class. Figures are None where nothing was counted. ``classes`` is how many occur. Up to
        MATRIX classes there is "confusion": row c counts by answer the nodes that have class c.
        """
        ends = self._labelled + self._predicted
        occurs = ends > 0
        count = int(self._labelled.sum())
        accuracy = float(self._right.sum() / count) if count else None
        pairs = self._pairs.reshape(-1, self.classes).tolist()
        return {
            "split": split,
            "accuracy": accuracy,
            "macro_f1": float((2 * self._right[occurs] / ends[occurs]).mean()) if count else None,
            "micro_f1": accuracy,
            "log_loss": self._loss / count if count else None,
            "count": count,
            "classes": int(occurs.sum()),
            **({"confusion": pairs} if pairs else {}),
        }


def log_probabilities(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the logarithms of the softmax of scores (n, classes)."""
    below: npt.NDArray[np.float64] = scores - scores.max(1, keepdims=True, initial=-np.inf)
    return np.asarray(below - np.log(np.exp(below).sum(1, keepdims=True)))
