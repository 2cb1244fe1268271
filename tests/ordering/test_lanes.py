"""Plans for several lanes: each bucket once, nothing shared, and each lane keeps one of its groups."""

import hashlib
from collections import Counter
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.ordering.lanes import (
    EVEN_LANES,
    LANE_ORDERINGS,
    LANES,
    LANES_BY_EDGES,
    keeping_one,
    make_lanes_plan,
    most_in_match,
    rounds_of,
    spare_slots_of_lane,
)
from marius_lite.ordering.rounds import tournament

MOST = 32


def counted(partitions, seed=0):
    """Edges of each bucket, where some partitions have many more than others."""
    popular = np.random.default_rng(seed).pareto(1.5, partitions) + 0.1
    return np.random.default_rng(seed).poisson(1000 * np.outer(popular, popular)).astype(np.int64)


@pytest.mark.parametrize("lanes", range(2, MOST + 1))
def test_in_a_tournament_each_lane_keeps_one_group(lanes):
    rounds = tournament(2 * lanes)
    before = rounds[0]
    for matches in rounds[1:]:
        after = keeping_one(before, matches)
        assert sorted(after) == sorted(matches)
        assert all(len({*old} & {*new}) == 1 for old, new in zip(before, after))
        before = after


@st.composite
def sizes(draw):
    lanes = draw(st.integers(2, 6))
    partitions = draw(st.sampled_from([lanes**2, 2 * lanes**2]) | st.integers(2 * lanes, 6 * lanes))
    return lanes, partitions, draw(st.integers(2, most_in_match(lanes, partitions)))


@given(sizes(), st.integers(0, 5), st.integers(0, 3), st.sampled_from(LANE_ORDERINGS))
@settings(max_examples=60, deadline=None)
def test_a_plan_trains_each_bucket_once_with_partitions_of_one_lane(size, seed, epoch, ordering):
    lanes, partitions, capacity = size
    plan = make_lanes_plan(lanes, counted(partitions), capacity, seed, epoch, ordering)
    assert plan == make_lanes_plan(lanes, counted(partitions), capacity, seed, epoch, ordering)
    assert plan.ordering == ordering
    buckets = Counter(bucket for step in plan.steps for bucket in step.buckets)
    assert len(buckets) == partitions**2
    assert set(buckets.values()) == {1}
    assert [step.index for step in plan.steps] == list(range(len(plan.steps)))
    resident = dict.fromkeys(range(lanes), frozenset())
    rounds = [list(steps) for _, steps in groupby(plan.steps, lambda step: step.round)]
    for steps in rounds:
        by_lane = {lane: {k for step in steps if step.lane == lane for k in step.resident} for lane in resident}
        assert sum(map(len, by_lane.values())) == len(set().union(*by_lane.values()))
        assert epoch == 0 or all(by_lane.values())  # a lane without a step would keep what others train
        for step in steps:
            assert len(step.resident) <= capacity
            assert {k for bucket in step.buckets for k in bucket} <= {*step.resident}
            assert {*step.load} == {*step.resident} - resident[step.lane]
            assert {*step.evict} == resident[step.lane] - {*step.resident}
            resident[step.lane] = frozenset(step.resident)
        resident |= {lane: frozenset() for lane, taken in by_lane.items() if not taken}


@given(sizes(), st.integers(0, 5))
@settings(max_examples=30, deadline=None)
def test_in_the_first_epoch_no_lane_begins_apart(size, seed):
    known = set()
    for number, steps in groupby(make_lanes_plan(size[0], counted(size[1]), size[2], seed, 0).steps, lambda step: step.round):
        by_lane = [{k for step in own for k in step.resident} for _, own in groupby(steps, lambda step: step.lane)]
        assert all(taken & known for taken in by_lane) if number else len(by_lane) == 1
        known.update(*by_lane)


@given(sizes(), st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_there_are_spare_slots_where_a_match_has_several_turns(size, seed):
    steps = make_lanes_plan(size[0], counted(size[1]), size[2], seed, 0).steps
    turns = Counter((step.lane, step.round) for step in steps)
    if max(turns.values()) > 1:
        assert 0 < spare_slots_of_lane(*size) < size[2] + 1


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_an_epoch_moves_one_table_less_than_there_are_lanes(lanes):
    plan = make_lanes_plan(lanes, counted(4 * lanes), 4, 0, 1)
    assert plan.swaps == (lanes - 1) * 4 * lanes


def test_epochs_and_seeds_differ():
    plans = [make_lanes_plan(2, counted(8), 4, seed, epoch) for seed in (0, 1) for epoch in (0, 1)]
    assert len({plan.steps for plan in plans}) == 4


@pytest.mark.parametrize(("lanes", "partitions"), [(2, 8), (2, 16), (3, 18), (4, 16), (4, 24), (6, 24), (8, 64)])
@pytest.mark.parametrize("seed", range(3))
def test_older_lanes_of_a_round_have_as_many_buckets(lanes, partitions, seed):
    """They wait for each other. In the first epoch lanes begin one after another."""
    plan = make_lanes_plan(lanes, np.ones((partitions, partitions), np.int64), partitions, seed, 1, EVEN_LANES)
    for steps in rounds_of(plan, lanes):
        assert len({sum(len(step.buckets) for step in each) for each in steps}) == 1


@pytest.mark.parametrize(
    ("ordering", "known"), [(LANES, "8df2f5b794f81fcf"), (EVEN_LANES, "ee87ed12bd743ac4"), (LANES_BY_EDGES, "8b1acd038fa2b750")]
)
def test_runs_keep_the_plans_that_they_had(ordering, known):
    counts = np.arange(64).reshape(8, 8) * 37 % 101
    plans = [make_lanes_plan(2, counts, 4, 7, epoch, ordering) for epoch in range(3)]
    trained = [(step.index, step.resident, step.buckets[:2], step.lane, step.round) for plan in plans for step in plan.steps]
    assert hashlib.sha256(repr(trained).encode()).hexdigest()[:16] == known
