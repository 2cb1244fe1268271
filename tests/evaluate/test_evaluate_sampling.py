"""Draws without replacement: different, in range, uniform, and no larger than what is drawn."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.evaluate.sampling import distinct


@given(st.integers(0, 300), st.data())
def test_different_ascending_and_in_range(population, data):
    count = data.draw(st.integers(0, population))
    drawn = distinct(population, count, np.random.default_rng(0))
    assert len(drawn) == count
    assert (np.diff(drawn) > 0).all()
    assert drawn.dtype == np.int64
    assert not count or 0 <= drawn[0] <= drawn[-1] < population


@pytest.mark.parametrize("count", [3, 8])
def test_every_number_is_equally_likely(count):
    """Chi-square over 4000 draws of ``count`` out of 10; 27.9 is p = 0.001 at 9 degrees of freedom."""
    generator = np.random.default_rng(1)
    seen = sum(np.bincount(distinct(10, count, generator), minlength=10) for _ in range(4000))
    expected = 4000 * count / 10
    assert ((seen - expected) ** 2 / expected).sum() < 27.9


def test_memory_follows_the_count():
    tracemalloc.start()
    drawn = distinct(10**15, 1000, np.random.default_rng(0))
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()
    assert drawn.max() > 10**14


def test_more_than_there_are():
    with pytest.raises(ValueError, match="5 different numbers below 4"):
        distinct(4, 5, np.random.default_rng(0))
