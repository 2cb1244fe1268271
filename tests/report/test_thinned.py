"""A thinned curve keeps the least, the largest and the mean of all its points, however it is given them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.report.thinned import MOST, Thinned


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 5 * MOST), st.integers(1, 2 * MOST), st.integers(0, 9))
def test_nothing_is_lost(count, piece, seed):
    values = np.random.default_rng(seed).normal(size=count)
    thinned = Thinned()
    for start in range(0, count, piece):
        at = np.arange(start, min(start + piece, count))
        thinned.add(at, at + 100.0, values[at])
    curve = thinned.curve()
    assert len(curve.place) <= MOST
    assert (len(curve.place) > 0) == (count > 0)
    begins = np.concatenate([[-1], curve.place[:-1]]).astype(int) + 1
    parts = [values[begin : int(end) + 1] for begin, end in zip(begins, curve.place)]
    assert sum(map(len, parts)) == count
    np.testing.assert_array_equal(curve.time, curve.place + 100)
    np.testing.assert_array_equal(curve.low, [part.min() for part in parts])
    np.testing.assert_array_equal(curve.high, [part.max() for part in parts])
    np.testing.assert_allclose(curve.mean, [part.mean() for part in parts], atol=1e-12)


def test_it_is_the_same_in_pieces_and_point_by_point():
    whole, single = Thinned(), Thinned()
    at = np.arange(2 * MOST + 3.0)
    whole.add(at, at, np.sin(at))
    for x in at:
        single.add(x, x, np.sin(x))
    np.testing.assert_array_equal(whole.curve(), single.curve())
