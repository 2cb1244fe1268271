"""All that differs between nodes with one class each and nodes with any number of them: loss, weights, figures, answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from marius_lite.evaluate.class_calibration import Calibration, of_one_class, of_several_classes
from marius_lite.evaluate.class_figures import ClassFigures
from marius_lite.evaluate.classification import log_probabilities
from marius_lite.evaluate.multi_label import MultiLabelFigures
from marius_lite.graph.dataset import Dataset
from marius_lite.nn.classifier import Loss, binary_cross_entropy, cross_entropy

Labels = npt.NDArray[Any]
Scores = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.float64]


class Predicted(NamedTuple):
    """What scores predict. ``answers``: (n,) class numbers, or (n, classes) truth values. ``probabilities``: (n, classes)."""

    answers: npt.NDArray[Any]
    probabilities: Numbers


class Labelling(Protocol):
    """How nodes have classes. ``column``: the name of a column of answers."""

    @property
    def loss(self) -> Loss: ...

    @property
    def column(self) -> str: ...

    def figures(self, nodes: int, classes: int, folder: Path, calibration: Calibration) -> ClassFigures | MultiLabelFigures:
        """Return what measures the answers for so many nodes and classes. ``folder``: for its scratch files."""
        ...

    def calibration(self, scores: Scores, labels: Labels) -> Calibration:
        """Return what finite scores (n, classes) say, fitted on nodes with these labels, at least one."""
        ...

    def balanced(self, labels: Labels, classes: int) -> Numbers:
        """Return the loss's weights of classes (classes,), so that all classes count alike however many nodes have them.

        A class that no node has is weighed as if one had it; a class that all nodes have, as if one had it not.
        """
        ...

    def predictions(self, scores: Scores, calibration: Calibration) -> Predicted:
        """Return what scores (n, classes) predict."""
        ...

    def named(self, answer: Any, names: Sequence[Any]) -> Any:
        """Return one node's answer by the names of classes."""
        ...


class OneClass:
    """Each node has one class."""

    loss, column = staticmethod(cross_entropy), "class"

    def figures(self, nodes: int, classes: int, folder: Path, calibration: Calibration) -> ClassFigures:
        return ClassFigures(nodes, classes, folder, calibration.scaling)

    def calibration(self, scores: Scores, labels: Labels) -> Calibration:
        return of_one_class(scores, labels)

    def balanced(self, labels: Labels, classes: int) -> Numbers:
        return np.asarray(len(labels) / (classes * np.bincount(labels, minlength=classes).clip(1)))

    def predictions(self, scores: Scores, calibration: Calibration) -> Predicted:
        return Predicted(scores.argmax(1), np.exp(log_probabilities(calibration.scaling.odds(scores))))

    def named(self, answer: int, names: Sequence[Any]) -> Any:
        return names[answer]


class SeveralClasses:
    """A node has any number of classes. Those are predicted whose score is high enough."""

    loss, column = staticmethod(binary_cross_entropy), "classes"

    def figures(self, nodes: int, classes: int, folder: Path, calibration: Calibration) -> MultiLabelFigures:
        return MultiLabelFigures(nodes, classes, folder, calibration)

    def calibration(self, scores: Scores, labels: Labels) -> Calibration:
        return of_several_classes(scores, labels)

    def balanced(self, labels: Labels, classes: int) -> Numbers:
        positives = np.count_nonzero(labels, axis=0)
        return np.asarray((len(labels) - positives).clip(1) / positives.clip(1))

    def predictions(self, scores: Scores, calibration: Calibration) -> Predicted:
        return Predicted(scores >= calibration.least, calibration.scaling.probability(scores))

    def named(self, answer: Sequence[bool], names: Sequence[Any]) -> list[Any]:
        return [name for name, has in zip(names, answer) if has]


def labelling(dataset: Dataset) -> Labelling:
    """Return how the nodes of a dataset have classes."""
    return SeveralClasses() if dataset.manifest.multi_label else OneClass()


def labelling_of(labels: Labels) -> Labelling:
    """Return how nodes with these labels have classes: (n,) numbers, or (n, classes) truth values."""
    return SeveralClasses() if labels.ndim == 2 else OneClass()
