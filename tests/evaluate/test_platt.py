"""A fit finds the log odds that scores were drawn with, rises with the score, and is finite whatever the scores are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from marius_lite.evaluate.platt import PlattScaling, fit_platt

SCORES = arrays(np.float32, st.integers(1, 30), elements=st.floats(-1e6, 1e6, width=32))


@pytest.mark.parametrize(("slope", "offset"), [(1.0, 0.0), (3.0, -20.0), (0.01, 2.0)])
def test_the_log_odds_are_found(slope, offset):
    rng = np.random.default_rng(0)
    scores = (rng.normal(size=40000) * 2 - offset) / slope
    truth = PlattScaling(slope, offset)
    drawn = rng.random(40000) < truth.probability(scores)
    found = fit_platt(scores[drawn], scores[~drawn])
    assert np.abs(found.probability(scores) - truth.probability(scores)).max() < 0.02


@settings(deadline=None)
@given(SCORES, SCORES)
def test_more_is_never_less_probable(true, false):
    scaling = fit_platt(true, false)
    assert np.isfinite(scaling).all()
    chances = scaling.probability(np.sort(np.concatenate([true, false])))
    assert (np.diff(chances) >= 0).all()
    assert chances.min() >= 0
    assert chances.max() <= 1
    assert scaling == fit_platt(true, false)


def test_classes_apart_and_scores_that_mislead():
    apart = fit_platt(np.arange(5, 10, dtype=np.float32), np.arange(5, dtype=np.float32))
    assert apart.probability(np.array([9.0])) > 0.8 > 0.2 > apart.probability(np.array([0.0]))
    assert fit_platt(np.zeros(30), np.ones(30)) == (0, 0)
