"""BETA meets its formula, stays above the bound, and moves one partition a step."""

import itertools

import pytest

from marius_lite.ordering import beta_swaps, lower_bound, make_plan
from marius_lite.ordering.beta import beta_states

SHAPES = [(p, c) for p in range(2, 65) for c in range(2, p + 1)]


@pytest.mark.parametrize(
    ("shape", "swaps", "bound"),
    [
        ((4, 2), 5, 5),
        ((6, 3), 7, 6),
        ((8, 4), 9, 8),
        ((16, 4), 42, 38),
        ((16, 8), 17, 14),
        ((32, 8), 78, 67),
        ((32, 16), 33, 26),
        ((64, 8), 308, 284),
    ],
)
def test_published_counts(shape, swaps, bound):
    assert (beta_swaps(*shape), lower_bound(*shape)) == (swaps, bound)


def test_every_shape_meets_the_formula_and_the_bound():
    for p, c in SHAPES:
        states = beta_states(p, c)
        assert len(states) - 1 == beta_swaps(p, c) >= lower_bound(p, c)
        assert all(len(set(b) - set(a)) == 1 for a, b in itertools.pairwise(states))


@pytest.mark.parametrize("shape", [(p, c) for p in (3, 9, 16) for c in range(2, p)])
def test_each_bucket_is_trained_at_the_first_chance(shape):
    plan = make_plan("beta", *shape, 7, 3)
    seen = set()
    for step in plan.steps:
        together = {(i, j) for i in step.resident for j in step.resident}
        assert set(step.buckets) == together - seen
        assert step.buckets
        seen |= together


@pytest.mark.parametrize("p", [3, 8, 33])
def test_two_slots_reach_the_bound(p):
    assert beta_swaps(p, 2) == lower_bound(p, 2) == p * (p - 1) // 2 - 1
