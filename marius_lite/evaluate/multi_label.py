"""Measure a classification where nodes may have several classes: each class for itself, and all together."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.errors import RunError
from marius_lite.evaluate.class_calibration import UNFITTED, Calibration
from marius_lite.evaluate.ranked_classes import MultiLabelOdds, means

Scores = npt.NDArray[np.float32]


class MultiLabelFigures:
    """Collects the figures of at most ``nodes`` nodes and their ``classes``. Scratch files are in ``folder`` until it closes.

    For each class it counts how many nodes have it, how many were given it, and how many both; and it keeps the scores. A node is
    given the classes whose score is high enough by the ``calibration``, which also says what is probable. Labels below 0 mean no
    label: such nodes are left out.
    """

    def __init__(self, nodes: int, classes: int, folder: Path, calibration: Calibration = UNFITTED):
        self._calibration = calibration
        self._odds = MultiLabelOdds(nodes, classes, folder)
        self._labelled, self._said, self._right = (np.zeros(classes, np.int64) for _ in range(3))
        self._count = self._exact = 0
        self._loss = 0.0

    def __enter__(self) -> MultiLabelFigures:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._odds.close()

    def add(self, scores: Scores, labels: npt.NDArray[Any]) -> None:
        """Count nodes by their ``scores`` (n, classes) and ``labels`` (n, classes). Raises RunError for a score that is not
        finite."""
        given = labels[:, 0] >= 0
        scores, labels = scores[given], labels[given]
        if not np.isfinite(scores).all():
            raise RunError("a class score is not a number: the model has diverged, train it with lower learning rates")
        has, said = labels == 1, scores >= self._calibration.least
        for counts, of in ((self._labelled, has), (self._said, said), (self._right, has & said)):
            counts += of.sum(0)
        self._count += len(labels)
        self._exact += int((has == said).all(1).sum())
        odds = self._calibration.scaling.odds(scores)
        self._loss -= float(log_probabilities_of(np.where(has, odds, -odds)).sum())
        self._odds.add(scores, labels)

    def summary(self, split: str, names: list[str]) -> dict[str, Any]:
        """Return {"split", "accuracy", "macro_f1", "micro_f1", "log_loss", "roc_auc", "average_precision", "count", "classes",
        "given_from", "per_class"}, ready for JSON.

        The F1 of a class is 2 right / (labelled + given). Macro-F1 is its mean over the classes that occur, as label or as
        answer. Micro-F1 is the F1 of the sums. Accuracy is the share of nodes where every class is right. Log loss is the mean
        over nodes and classes of -log of the probability of what is true. ROC AUC and average precision are means over the
        classes that some nodes have and others have not. A figure that does not exist is None. ``classes`` is how many occur.
        ``given_from`` is the probability from which on a node was given a class.
        ``per_class`` has the figures of each class by name; its ``count`` is how many nodes have the class.
        """
        ends = self._labelled + self._said
        f1 = {c: 2 * int(self._right[c]) / int(ends[c]) for c in np.flatnonzero(ends).tolist()}
        ranked = {c: (auc, precision) for c, auc, precision in self._odds.each()}
        auc, precision = means(list(ranked.values()))
        count = self._count
        return {
            "split": split,
            "accuracy": self._exact / count if count else None,
            "macro_f1": float(np.mean(list(f1.values()))) if f1 else None,
            "micro_f1": 2 * int(self._right.sum()) / int(ends.sum()) if f1 else None,
            "log_loss": self._loss / (count * len(ends)) if count else None,
            "roc_auc": auc,
            "average_precision": precision,
            "count": count,
            "classes": len(f1),
            "given_from": self._calibration.given_from,
            "per_class": {
                name: {
                    "f1": f1.get(c),
                    "roc_auc": ranked.get(c, (None, None))[0],
                    "average_precision": ranked.get(c, (None, None))[1],
                    "count": int(self._labelled[c]),
                }
                for c, name in enumerate(names)
            },
        }


def log_probabilities_of(odds: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the logarithms of the logistic function of log odds."""
    return np.asarray(-np.logaddexp(0, -odds))
