"""Counts of the candidates that beat, or tie with, the true answers."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from marius_lite._native import count_answers

FEW = st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 1.0, np.inf, np.nan])


@given(st.integers(0, 40), st.integers(0, 70), st.integers(0, 5), st.integers(1, 3), st.data())
def test_counts_are_those_of_numpy(rows, columns, gap, threads, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    whole = rng.choice(data.draw(st.lists(FEW, min_size=1)), (rows, columns + gap)).astype(np.float32)
    scores, positives = whole[:, :columns], rng.choice([-1.0, 0.0, 1.0], rows).astype(np.float32)
    above, not_below = rng.integers(0, 9, (2, rows))
    expected = above + (scores > positives[:, None]).sum(1), not_below + (scores >= positives[:, None]).sum(1)
    count_answers(scores, positives, above, not_below, threads)
    assert (above.tolist(), not_below.tolist()) == tuple(each.tolist() for each in expected)


def test_a_tensor_that_is_a_part_of_a_tile_is_counted_where_it_is():
    tile, above, not_below = torch.zeros(256, 1024), np.zeros(3, np.int64), np.zeros(3, np.int64)
    tile[1, 2], tile[2, 5] = 2.0, torch.nan
    count_answers(tile[:3, :7].numpy(), np.array([0, 0, 0], np.float32), above, not_below)
    assert above.tolist() == [0, 1, 0]
    assert not_below.tolist() == [7, 7, 6]


def test_what_does_not_fit_is_refused():
    scores, two, three = np.zeros((2, 6), np.float32), np.zeros(2, np.int64), np.zeros(3, np.int64)
    positives = np.zeros(2, np.float32)
    with pytest.raises(ValueError, match="a number for each row"):
        count_answers(scores, positives, three, two)
    with pytest.raises(ValueError, match="have gaps"):
        count_answers(scores[:, ::2], positives, two, two)
    with pytest.raises(TypeError):
        count_answers(scores.astype(np.float64), positives, two, two)
