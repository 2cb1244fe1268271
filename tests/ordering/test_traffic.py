"""Counted loads and evictions, with what the epoch before left in the buffer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.ordering import (
    beta_swaps,
    bytes_per_epoch,
    comet_shape,
    make_plan,
    partition_traffic,
    spare_slots,
    transitions,
)


@pytest.mark.parametrize(("p", "c"), [(8, 2), (16, 4), (16, 5), (64, 8)])
def test_beta_bytes_meet_the_formula(p, c):
    moved = bytes_per_epoch(make_plan("beta", p, c, 0, 0), 1000)
    assert moved.read == moved.written == (beta_swaps(p, c) + c) * 1000


def test_comet_bytes_meet_the_formula():
    l, held = comet_shape(16, 4)
    moved = bytes_per_epoch(make_plan("comet", 16, 4, 0, 0), 1000)
    assert moved.read == moved.written == (beta_swaps(l, held) + held) * 16 // l * 1000 == 58000


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(["beta", "comet"]), st.integers(2, 32), st.booleans())
def test_following_the_transitions_reaches_every_step(data, ordering, p, look_ahead):
    c = data.draw(st.integers(2, p))
    before = data.draw(st.sets(st.integers(0, p - 1), max_size=c))
    plan = make_plan(ordering, p, c, 1, 1)
    held = set(before)
    moves = transitions(before, plan, look_ahead)
    for step, move in zip(plan.steps, moves, strict=True):
        assert not held & set(move.load)
        assert set(move.evict) <= held
        held = held - set(move.evict) | set(move.load)
        assert set(step.resident) <= held
        assert len(held) <= c + (spare_slots(ordering, p, c) if look_ahead else 0) or step.index == 0
        assert look_ahead or held == set(step.resident)
    assert held == set(plan.steps[-1].resident)
    assert partition_traffic(before, plan, look_ahead).read == sum(len(move.load) for move in moves)


def test_residents_left_over_are_not_read_again():
    plan = make_plan("comet", 16, 4, 0, 0)
    first = plan.steps[0].resident
    assert partition_traffic(first, plan).read == partition_traffic((), plan).read - len(first)
    assert transitions(first, plan)[0] == ((), ())


@pytest.mark.parametrize(("ordering", "p", "c"), [("comet", 16, 4), ("comet", 32, 8), ("beta", 16, 4)])
def test_looking_ahead_saves_reads(ordering, p, c):
    plan = make_plan(ordering, p, c, 0, 0)
    assert partition_traffic((), plan, look_ahead=True).read < partition_traffic((), plan).read
