"""ROC AUC and average precision of sorted numbers against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ranks_definition import by_pairs, by_thresholds

from marius_lite.ranks import average_precision, roc_auc


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 12), st.integers(0, 1000))
def test_of_two_sorted_lists(positives, negatives, values, seed):
    rng = np.random.default_rng(seed)
    odds = rng.integers(0, values, positives + negatives).astype(np.float32)  # ties are common
    have = np.arange(len(odds)) < positives
    sorted_ones = np.sort(odds[have]), np.sort(odds[~have])
    assert roc_auc(*sorted_ones) == pytest.approx(by_pairs(odds, have))
    assert average_precision(*sorted_ones) == pytest.approx(by_thresholds(odds, have))
