"""Measure a classification where each node has one class: by counts, and by ranking nodes for each class."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.evaluate.classification import ClassCounts
from marius_lite.evaluate.platt import PlattScaling
from marius_lite.evaluate.ranked_classes import Odds


class ClassFigures:
    """Collects the figures of at most ``nodes`` nodes and their ``classes``. Scratch files are in ``folder`` until the block
    ends. ``scaling``: makes of scores what their softmax is taken of. No answer follows from it, but log odds do."""

    def __init__(self, nodes: int, classes: int, folder: Path, scaling: PlattScaling):
        self._counts, self._odds, self._scaling = ClassCounts(classes, scaling), Odds(nodes, classes, folder), scaling

    def __enter__(self) -> ClassFigures:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._odds.close()

    def add(self, scores: npt.NDArray[np.float32], labels: npt.NDArray[Any]) -> None:
        """See `ClassCounts.add`."""
        self._counts.add(scores, labels)
        given = labels >= 0
        self._odds.add(self._scaling.odds(scores[given]).astype(np.float32), labels[given])

    def summary(self, split: str, names: list[str]) -> dict[str, Any]:
        """Return the summary of `ClassCounts`, with "roc_auc" and "average_precision", see `Odds.means`,
        and "per_class", see `ClassCounts.per_class`."""
        auc, precision = self._odds.means()
        per_class = self._counts.per_class(names)
        return {**self._counts.summary(split), "roc_auc": auc, "average_precision": precision, "per_class": per_class}
