"""ROC AUC and average precision against their definitions, over pairs and over thresholds."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranks_definition import by_pairs, by_thresholds

from marius_lite.evaluate.ranked_classes import Odds, log_odds


@given(st.integers(2, 5), st.integers(0, 30), st.integers(1, 9), st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_means_over_classes_however_streamed(tmp_path_factory, classes, nodes, batch, seed):
    folder, rng = tmp_path_factory.getbasetemp(), np.random.default_rng(seed)
    scores, labels = rng.integers(-2, 3, (nodes, classes)).astype(np.float32), rng.integers(classes, size=nodes)
    with Odds(nodes, classes, folder) as odds:
        for start in range(0, nodes, batch):
            odds.add(scores[start : start + batch], labels[start : start + batch])
        found = odds.means()
    values = log_odds(scores)
    rarer = int((labels == 1).sum() <= (labels == 0).sum())
    told = [c for c in ([rarer] if classes == 2 else range(classes)) if 0 < (labels == c).sum() < nodes]
    if not told:
        assert found == (None, None)
        return
    assert found[0] == pytest.approx(np.mean([by_pairs(values[:, c], labels == c) for c in told]))
    assert found[1] == pytest.approx(np.mean([by_thresholds(values[:, c], labels == c) for c in told]))


def test_odds_are_those_of_the_softmax_and_do_not_saturate():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(50, 4)).astype(np.float32)
    p = np.exp(scores.astype(float)) / np.exp(scores.astype(float)).sum(1, keepdims=True)
    np.testing.assert_allclose(log_odds(scores), np.log(p / (1 - p)), rtol=1e-5, atol=1e-5)
    sure = np.float32([[0, 100, 0], [0, 101, 0], [-1000, 1000, -1000]])  # all of probability 1 as float64
    assert (np.diff(log_odds(sure)[:, 1]) > 0).all()
    np.testing.assert_allclose(log_odds(sure)[:2, 1], sure[:2, 1] - np.log(2), rtol=1e-6)


def test_one_class_alone_has_no_figures_and_nothing_is_left(tmp_path):
    with Odds(3, 1, tmp_path) as odds:
        odds.add(np.ones((3, 1), np.float32), np.zeros(3, np.int64))
        assert odds.means() == (None, None)
    assert os.listdir(tmp_path) == []
