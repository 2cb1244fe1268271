import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite._native import draw_below
from marius_lite.seeds import FEW, generator_for, integers_for, order_for, seed_for

PLACES = st.tuples(st.integers(0, 3), st.sampled_from("ab"), *[st.integers(0, 3)] * 4)


@given(PLACES, PLACES)
def test_a_seed_depends_on_every_argument(one, other):
    assert (seed_for(*one) == seed_for(*other)) == (one == other)
    assert 0 <= seed_for(*one) < 2**63


def test_generators_of_one_place_draw_the_same():
    assert generator_for(1, "x", 2).integers(2**62) == generator_for(1, "x", 2).integers(2**62)


@given(PLACES)
def test_a_generator_is_philox_with_its_seed_as_the_key(place):
    plain = np.random.Generator(np.random.Philox(key=seed_for(*place)))
    assert (generator_for(*place).random(9) == plain.random(9)).all()


BOUNDS = st.one_of(st.integers(1, 40), st.integers(FEW - 3, FEW + 3), st.integers(1, 2**40), st.sampled_from([2**31, 2**31 + 1]))


@given(st.integers(0, 9), BOUNDS, st.tuples(st.integers(0, 3), st.integers(0, 40)))
def test_integers_are_the_first_ones_of_numpys_generator(batch, below, shape):
    drawn = integers_for(5, "negatives", 1, 2, batch, below, shape)
    np.testing.assert_array_equal(drawn, generator_for(5, "negatives", 1, 2, batch).integers(below, size=shape))
    assert drawn.dtype == np.int64


@pytest.mark.parametrize("below", [0, -1, FEW])
def test_a_bound_that_numpy_treats_otherwise_is_refused(below):
    with pytest.raises(ValueError, match="is not from 1 to 4294967295"):
        draw_below(1, below, np.empty(3, np.int64))


@given(st.integers(0, 9), st.one_of(st.integers(0, 3), st.integers(0, 3000)))
def test_an_order_is_that_of_numpys_shuffle(batch, count):
    order, expected = order_for(5, "shuffle", 1, 2, batch, count), np.arange(count)
    generator_for(5, "shuffle", 1, 2, batch).shuffle(expected)
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(order, generator_for(5, "shuffle", 1, 2, batch).permutation(count))
    assert order.dtype == np.uint32


def test_an_order_of_many_is_that_of_numpys_shuffle():
    expected = np.arange(3_000_000, dtype=np.uint32)
    generator_for(5, "shuffle").shuffle(expected)
    assert (order_for(5, "shuffle", 0, 0, 0, len(expected)) == expected).all()
