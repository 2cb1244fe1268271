"""COMET: the shape of its groups, its logical swaps, and how evenly it spreads the work."""

import collections

import numpy as np
import pytest

from marius_lite.ordering import beta_swaps, comet_shape, lower_bound, make_plan
from marius_lite.ordering.comet import groups_that_fit

SHAPES = [(p, c) for p in range(2, 65) for c in range(2, p + 1)]


def test_rule_of_thumb_where_it_fills_the_buffer():
    assert comet_shape(16, 4) == (8, 2)
    for p, c in SHAPES:
        if (2 * p) % c == 0 and c % 2 == 0 and p % (2 * p // c) == 0:
            assert comet_shape(p, c) == (2 * p // c, 2)


def test_any_capacity_has_a_shape_that_fits():
    for p, c in SHAPES:
        l, held = comet_shape(p, c)
        sizes = sorted((len(part) for part in np.array_split(np.arange(p), l)), reverse=True)
        assert 2 <= held <= l <= p
        assert sum(sizes[:held]) <= c
        assert 2 * p <= l * c
        assert held == l or sum(sizes[: held + 1]) > c


@pytest.mark.parametrize("p", range(1, 20))
def test_groups_that_fit_by_counting(p):
    for c in range(1, p + 1):
        for l in range(1, p + 1):
            sizes = sorted((len(part) for part in np.array_split(np.arange(p), l)), reverse=True)
            assert groups_that_fit(p, c, l) == sum(total <= c for total in np.cumsum(sizes))


@pytest.mark.parametrize(("p", "c"), [(16, 4), (16, 8), (12, 3), (13, 5), (64, 16), (7, 6), (9, 4)])
def test_groups_move_together_and_swaps_meet_the_formula(p, c):
    plan = make_plan("comet", p, c, 11, 2)
    l, held = comet_shape(p, c)
    assert len(plan.steps) - 1 == beta_swaps(l, held) >= lower_bound(l, held)
    presence = collections.defaultdict(list)
    for partition in range(p):
        presence[tuple(partition in step.resident for step in plan.steps)].append(partition)
    groups = list(presence.values())
    assert max(map(len, groups)) - min(map(len, groups)) <= 1 or held == l
    assert len(groups) == l or held == l
    assert all(len(step.load) in (p // l, -(-p // l)) for step in plan.steps[1:])
    if p % l == 0:
        assert plan.swaps == beta_swaps(l, held) * p // l


def test_groups_are_dealt_anew_each_epoch():
    first = [make_plan("comet", 16, 8, 0, epoch).steps[0].resident for epoch in range(8)]
    assert len(set(first)) > 4


def test_work_is_spread_over_the_steps():
    """Two groups always meet in one step, so only the work inside groups can be spread.

    BETA trains c*c of the buckets in its first step; COMET leaves most of those to later steps.
    """
    greedy = len(make_plan("beta", 32, 8, 0, 0).steps[0].buckets)
    spread = np.mean([len(make_plan("comet", 32, 8, 0, epoch).steps[0].buckets) for epoch in range(20)])
    between_groups = 2 * 4 * 4
    assert greedy == 64
    assert between_groups <= spread < between_groups + 16


def test_the_step_of_a_bucket_is_uniform():
    """With 4 partitions, 2 resident, each (i, i) has three steps to choose from: 900 epochs, chi-square."""
    counts = collections.Counter()
    for epoch in range(900):
        plan = make_plan("comet", 4, 2, 5, epoch)
        holding = [step.index for step in plan.steps if 0 in step.resident]
        (chosen,) = [step.index for step in plan.steps if (0, 0) in step.buckets]
        counts[holding.index(chosen)] += 1
    assert set(counts) == {0, 1, 2}
    assert sum((count - 300) ** 2 / 300 for count in counts.values()) < 13.8  # p = 0.001 at 2 degrees
