"""Scores times a factor are as sure as they are right."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.evaluate.classification import log_probabilities
from marius_lite.evaluate.temperature import fit_temperature


def drawn(seed, count, classes):
    """Scores, and labels drawn by their softmax."""
    rng = np.random.default_rng(seed)
    scores = 2 * rng.normal(size=(count, classes))
    chances = np.exp(log_probabilities(scores))
    return scores.astype(np.float32), (chances.cumsum(1) < rng.random((count, 1))).sum(1).clip(max=classes - 1)


@given(st.integers(0, 100), st.integers(2, 9), st.floats(0.02, 50))
@settings(max_examples=40, deadline=None)
def test_it_undoes_what_scores_were_multiplied_by(seed, classes, by):
    scores, labels = drawn(seed, 4000, classes)
    assert fit_temperature(scores, labels) == pytest.approx(1, abs=0.15)
    assert fit_temperature(by * scores, labels) * by == pytest.approx(fit_temperature(scores, labels), rel=1e-3)


@given(st.integers(0, 100), st.integers(1, 30), st.integers(2, 5))
@settings(max_examples=60, deadline=None)
def test_no_factor_is_likelier(seed, count, classes):
    scores, labels = np.random.default_rng(seed).normal(size=(count, classes)).astype(np.float32), drawn(seed, count, classes)[1]
    found, doubt = fit_temperature(scores, labels), 1 / (count + 2)
    targets = (1 - doubt) * np.eye(classes)[labels] + doubt / classes

    def loss(factor):
        return -(targets * log_probabilities(factor * scores.astype(np.float64))).sum(1).mean()

    assert found >= 0
    assert all(loss(found) <= loss(factor) + 1e-9 for factor in (*np.geomspace(0.01, 100, 40), 0.0, found + 1e-3))


def test_where_all_is_right_or_wrong_it_is_a_number():
    scores, right = np.tile(5 * np.eye(3, dtype=np.float32), (100, 1)), np.tile(np.arange(3), 100)
    assert 1 < fit_temperature(scores, right) < 10
    assert fit_temperature(scores, (right + 1) % 3) == 0
    assert fit_temperature(scores[:0], np.arange(0)) == 1
    assert fit_temperature(np.full((4, 3), 2, np.float32), np.zeros(4, np.int64)) == pytest.approx(1)
