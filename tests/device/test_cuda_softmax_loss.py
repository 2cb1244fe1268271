"""The CUDA library's softmax loss, with the host's build of it, against double precision."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from softmax_definition import assert_softmax_loss

HERE = {"device": 0, "stream": 0}


def softmax_loss(library, scores, offset=0):
    """(gradient (n, 1 + k), losses (n,)) of scores, the positives first; the negatives begin `offset` floats into memory."""
    rows, columns = len(scores), scores.shape[1] - 1
    positive, losses = scores[:, 0].copy(), np.full(rows, np.nan, np.float32)
    memory = np.full(offset + rows * columns + 9, 77.0, np.float32)
    negatives = memory[offset : offset + rows * columns].reshape(rows, columns)
    negatives[:] = scores[:, 1:]
    library.softmax_loss(
        **HERE,
        positive=positive.ctypes.data,
        negatives=negatives.ctypes.data,
        losses=losses.ctypes.data,
        rows=rows,
        columns=columns,
    )
    assert (memory[:offset] == 77).all()
    assert (memory[offset + rows * columns :] == 77).all()
    return np.concatenate([positive[:, None], negatives], 1), losses


@settings(deadline=None, max_examples=150)
@given(
    rows=st.integers(0, 30),
    columns=st.integers(0, 200),
    offset=st.integers(0, 4),
    spread=st.sampled_from([0.01, 1.0, 30.0, 1e4]),
    left_out=st.sampled_from([0.0, 0.1, 1.0]),
    seed=st.integers(0, 99),
)
def test_it_is_the_definition(host_library, rows, columns, offset, spread, left_out, seed):
    rng = np.random.default_rng(seed)
    scores = (spread * rng.standard_normal((rows, 1 + columns))).astype(np.float32)
    scores[:, 1:][rng.random((rows, columns)) < left_out] = -np.inf
    gradient, losses = softmax_loss(host_library, scores, offset)
    assert_softmax_loss(scores, gradient, losses)
    assert (gradient[:, 1:][np.isneginf(scores[:, 1:])] == 0).all()


@settings(deadline=None, max_examples=40)
@given(columns=st.integers(1, 70), place=st.integers(0, 70), others=st.sampled_from([0.0, -np.inf, 1e30]))
def test_nan_makes_its_rows_loss_nan(host_library, columns, place, others):
    scores = np.full((3, 1 + columns), others, np.float32)
    scores[:, 0] = 0
    scores[1, place % (1 + columns)] = np.nan
    assert np.isnan(softmax_loss(host_library, scores)[1]).tolist() == [False, True, False]


def test_without_negatives_there_is_nothing_to_lose(host_library):
    gradient, losses = softmax_loss(host_library, np.array([[3.0], [-1e30]], np.float32))
    assert (gradient == 0).all()
    assert (losses == 0).all()


USUAL = {**HERE, "positive": 64, "negatives": 64, "losses": 64, "rows": 1, "columns": 1}


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"rows": -1}, "softmax_loss: -1 rows of 1 columns"),
        ({"columns": -2}, "1 rows of -2 columns"),
        ({"negatives": 66}, "scores or losses are not aligned to floats"),
        ({"losses": 0}, "scores or losses are null"),
        ({"negatives": 0}, "scores or losses are null"),
        ({"device": 7}, r"on device 7: invalid device ordinal \(101\)"),
    ],
)
def test_misfits_are_named(host_library, wrong, text):
    with pytest.raises(RuntimeError, match=text):
        host_library.softmax_loss(**USUAL | wrong)
