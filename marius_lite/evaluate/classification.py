"""How well classes are told: accuracy and macro-F1 from counts that grow with the classes alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.errors import RunError


class ClassCounts:
    """Counts, for each class, of nodes that have it, that were said to have it, and both; exact whatever the batches.

    ``classes``: how many there are. Labels below 0 mean no label: such nodes are left out.
    """

    def __init__(self, classes: int):
        self.classes = classes
        self._labelled, self._predicted, self._right = (np.zeros(classes, np.int64) for _ in range(3))

    def add(self, scores: torch.Tensor, labels: torch.Tensor) -> None:
        """Count nodes by their ``scores`` (n, classes) and ``labels`` (n,) int64. The highest score is the answer, the first of
        equal ones. RunError for a score that is not a number, ValueError for a label that is no class.
        """
        given = labels >= 0
        scores, labels = scores[given], labels[given]
        if scores.isnan().any():
            raise RunError("a class score is not a number: the model has diverged, train it with lower learning rates")
        self.add_answers(scores.argmax(1).cpu().numpy(), labels.cpu().numpy())

    def add_answers(self, answers: npt.NDArray[np.int64], labels: npt.NDArray[np.int64]) -> None:
        """Count nodes by the classes that were answered and the ``labels``, both (n,)."""
        given = labels >= 0
        answers, labels = answers[given], labels[given]
        if max(labels.max(initial=0), answers.max(initial=0)) >= self.classes:
            raise ValueError(f"found class {max(labels.max(), answers.max())}, there are {self.classes}")
        for counts, of in ((self._labelled, labels), (self._predicted, answers), (self._right, labels[labels == answers])):
            counts += np.bincount(of, minlength=self.classes)

    def summary(self, split: str) -> dict[str, Any]:
        """{"split", "accuracy", "macro_f1", "count", "classes"}, ready for JSON.

        Macro-F1 is the mean over the classes that occur, as label or as answer, of 2 right / (labelled + answered); None, like
        accuracy, where nothing was counted. ``classes`` is how many occur.
        """
        ends = self._labelled + self._predicted
        occurs = ends > 0
        count = int(self._labelled.sum())
        return {
            "split": split,
            "accuracy": float(self._right.sum() / count) if count else None,
            "macro_f1": float((2 * self._right[occurs] / ends[occurs]).mean()) if count else None,
            "count": count,
            "classes": int(occurs.sum()),
        }
