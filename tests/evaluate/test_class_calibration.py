"""What scores say of classes: the same however they are scaled, and never answers that others are better than."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.evaluate.class_calibration import UNFITTED, best_threshold, of_one_class, of_several_classes


def several(seed=0, nodes=300, classes=5):
    """Scores and labels of which they are right on the whole."""
    rng = np.random.default_rng(seed)
    labels = (rng.random((nodes, classes)) < 0.3).astype(np.int8)
    return (2 * rng.normal(size=labels.shape) + 2 * labels).astype(np.float32), labels


@given(st.floats(0.05, 20), st.floats(-5, 5))
@settings(max_examples=30, deadline=None)
def test_however_scores_are_scaled_they_say_the_same(slope, offset):
    scores, labels = several()
    other = ((scores - offset) / slope).astype(np.float32)
    one, two = of_several_classes(scores, labels), of_several_classes(other, labels)
    np.testing.assert_allclose(one.scaling.odds(scores), two.scaling.odds(other), rtol=1e-3, atol=2e-3)
    assert two.least * slope + offset == pytest.approx(one.least, abs=1e-3)


def test_scores_that_say_nothing_leave_the_share_of_each_class():
    scores, labels = several()
    found = of_several_classes(-scores, labels)
    np.testing.assert_allclose(found.scaling.probability(scores), labels.mean(), rtol=1e-6)


@pytest.mark.parametrize("value", [0, 1])
def test_nothing_is_fitted_where_all_have_all_classes_or_none(value):
    scores, labels = several()
    assert of_several_classes(scores, np.full_like(labels, value)) == UNFITTED


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=12), st.lists(st.integers(-3, 3), max_size=12))
def test_no_threshold_has_a_higher_f1(true, false):
    true, false = (np.array(each, np.float32) for each in (true, false))
    every = [*np.arange(-4, 4, 0.5), best_threshold(true, false)]
    f1 = [2 * (true >= t).sum() / (len(true) + (true >= t).sum() + (false >= t).sum()) for t in every]
    assert f1[-1] == max(f1)


def test_of_one_class_no_answer_changes():
    scores, labels = several()
    found = of_one_class(scores, labels.argmax(1))
    assert found.scaling.offset == 0 < found.scaling.slope
    np.testing.assert_array_equal(found.scaling.odds(scores).argmax(1), scores.argmax(1))
