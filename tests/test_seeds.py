import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.seeds import generator_for, seed_for

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
