"""Steps from a point of the search space."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.tune.space import Choices, Span
from marius_lite.tune.step import FACTOR, MOST_CHANGES, PART, step

CHOICES = st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True).map(lambda values: Choices(tuple(values)))
NUMBERS = st.tuples(st.floats(1e-4, 1), st.floats(1.5, 100), st.booleans()).map(lambda ends: Span(*ends))
WHOLE = st.tuples(st.integers(1, 5), st.integers(6, 500), st.booleans()).map(lambda ends: Span(*ends))


@st.composite
def spaces_with_points(draw):
    space = draw(st.dictionaries(st.sampled_from("abcdef"), st.one_of(CHOICES, NUMBERS, WHOLE), min_size=1))
    point = {}
    for key, searched in space.items():
        if isinstance(searched, Choices):
            point[key] = draw(st.sampled_from(searched.values))
        else:
            number = st.integers if searched.whole else st.floats
            point[key] = draw(number(searched.low, searched.high))
    return space, point


@given(given=spaces_with_points(), seed=st.integers(0, 1 << 32))
def test_a_step_changes_one_or_two_settings_and_stays_near_and_in_the_space(given, seed):
    space, point = given
    stepped = step(space, point, np.random.default_rng(seed))
    assert stepped.keys() == point.keys()
    assert step(space, point, np.random.default_rng(seed)) == stepped
    changed = [key for key in space if stepped[key] != point[key]]
    assert len(changed) <= MOST_CHANGES
    for key in changed:
        searched, before, after = space[key], point[key], stepped[key]
        if isinstance(searched, Choices):
            assert after in searched.values
            continue
        assert searched.low <= after <= searched.high
        if searched.whole:
            assert isinstance(after, int)
        slack = 1 if searched.whole else 0
        if searched.log:
            rounded = slack / min(before, after)
            assert abs(after - before) <= slack or abs(math.log(after / before)) <= math.log(FACTOR) * 1.01 + rounded
        else:
            assert abs(after - before) <= PART * (searched.high - searched.low) * 1.01 + slack


def test_every_setting_is_changed_by_some_step_and_one_without_another_value_by_none():
    space = {"a": Choices((1, 2)), "b": Choices((1,)), "c": Span(0.1, 1.0), "d": Span(1, 3)}
    point = {"a": 1, "b": 1, "c": 0.5, "d": 2}
    stepped = [step(space, point, np.random.default_rng(seed)) for seed in range(100)]
    for key in "acd":
        share = sum(each[key] != point[key] for each in stepped) / len(stepped)
        assert share == pytest.approx(0.5, abs=0.2)
    assert all(each["b"] == 1 for each in stepped)


def test_a_space_of_one_point_has_no_other():
    assert step({"a": Choices((1,))}, {"a": 1}, np.random.default_rng(0)) == {"a": 1}
