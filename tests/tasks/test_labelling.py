"""One class or several: what scores say, how classes are weighed, and how answers are told."""

import numpy as np
import pytest

from marius_lite.evaluate.class_calibration import UNFITTED
from marius_lite.graph.dataset import Dataset
from marius_lite.tasks.labelling import OneClass, SeveralClasses, labelling, labelling_of

SCORES = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)


def test_the_dataset_tells_which(communities, several):
    assert isinstance(labelling(Dataset.open(communities)), OneClass)
    assert isinstance(labelling(Dataset.open(several)), SeveralClasses)
    assert isinstance(labelling_of(np.zeros(3, np.int64)), OneClass)
    assert isinstance(labelling_of(np.zeros((3, 2), np.int8)), SeveralClasses)


def test_of_one_class_the_likeliest_is_said():
    predicted = OneClass().predictions(SCORES, UNFITTED)
    np.testing.assert_allclose(predicted.probabilities, np.exp(SCORES) / np.exp(SCORES).sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_array_equal(predicted.answers, SCORES.argmax(1))


def test_of_several_each_is_said_that_is_likelier_than_not():
    predicted = SeveralClasses().predictions(SCORES, UNFITTED)
    np.testing.assert_allclose(predicted.probabilities, 1 / (1 + np.exp(-SCORES)), rtol=1e-5)
    np.testing.assert_array_equal(predicted.answers, predicted.probabilities >= 0.5)


def test_answers_go_by_names():
    assert OneClass().named(2, ["law", "art", "math"]) == "math"
    assert SeveralClasses().named([True, False, True], ["law", "art", "math"]) == ["law", "math"]


@pytest.mark.parametrize("absent", [False, True])
def test_weights_of_classes_are_finite_and_greater_for_the_rarer(absent):
    labels = np.array([0] * 10 + [1] * 3 + [2] * (0 if absent else 1))
    for weights in (OneClass().balanced(labels, 3), SeveralClasses().balanced(np.eye(3, dtype=np.int8)[labels], 3)):
        assert np.isfinite(weights).all()
        assert (np.diff(weights) > 0).all()
