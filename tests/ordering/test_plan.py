"""Properties of every plan, whatever the ordering, shape and seed."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.errors import UserError
from marius_lite.ordering import ORDERINGS, choose, make_plan, spare_slots


@st.composite
def plans(draw):
    partitions = draw(st.integers(1, 64))
    capacity = draw(st.integers(min(2, partitions), partitions))
    ordering = draw(st.sampled_from(["beta", "comet"] if capacity < partitions else sorted(ORDERINGS)))
    return make_plan(ordering, partitions, capacity, draw(st.integers(0, 2**40)), draw(st.integers(0, 100)))


@settings(max_examples=200, deadline=None)
@given(plans())
def test_every_property_holds(plan):
    check_properties(plan)


@pytest.mark.parametrize("ordering", ["beta", "comet"])
def test_every_property_holds_for_every_small_shape(ordering):
    for partitions in range(1, 17):
        for capacity in range(min(2, partitions), partitions + 1):
            check_properties(make_plan(ordering, partitions, capacity, 3, partitions))


def check_properties(plan):
    before = set()
    trained = []
    for index, step in enumerate(plan.steps):
        now = set(step.resident)
        assert step.index == index
        assert len(now) == len(step.resident) <= plan.capacity
        assert set(step.load) == now - before
        assert set(step.evict) == before - now
        assert len(step.load) + len(step.evict) == len(now ^ before)
        assert all(source in now and destination in now for source, destination in step.buckets)
        trained += step.buckets
        before = now
    p = plan.partitions
    assert sorted(trained) == [(i, j) for i in range(p) for j in range(p)]
    loads = [len(step.load) for step in plan.steps[1:]]
    assert plan.swaps == sum(loads)
    assert max(loads, default=0) <= spare_slots(plan.ordering, p, plan.capacity)


@settings(max_examples=30, deadline=None)
@given(plans(), st.integers(0, 3))
def test_same_arguments_same_plan(plan, seed):
    arguments = (plan.ordering, plan.partitions, plan.capacity, seed, plan.epoch)
    assert make_plan(*arguments) == make_plan(*arguments)


@pytest.mark.parametrize("ordering", ["beta", "comet"])
def test_epochs_and_seeds_differ(ordering):
    residents = {
        tuple(step.resident for step in make_plan(ordering, 16, 4, seed, epoch).steps) for seed in range(3) for epoch in range(3)
    }
    assert len(residents) == 9


def test_buckets_of_a_step_are_shuffled():
    (step,) = make_plan("in_memory", 16, 16, 0, 0).steps
    assert list(step.buckets) != sorted(step.buckets)
    assert step.buckets != make_plan("in_memory", 16, 16, 0, 1).steps[0].buckets


@pytest.mark.parametrize("ordering", sorted(ORDERINGS))
@pytest.mark.parametrize("partitions", [1, 2, 5, 64])
def test_everything_resident_is_one_step(ordering, partitions):
    plan = make_plan(ordering, partitions, partitions, 0, 0)
    assert len(plan.steps) == 1
    assert plan.swaps == spare_slots(ordering, partitions, partitions) == 0


def test_automatic_ordering():
    assert [choose(8, 8), choose(8, 7)] == ["in_memory", "comet"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("beta", 8, 1), "`storage.capacity` is 1: .* 2 to 8"),
        (("comet", 8, 0), "`storage.capacity` is 0"),
        (("comet", 8, 9), "`storage.capacity` is 9, .* 8 partitions"),
        (("in_memory", 8, 4), "in_memory, but `storage.capacity` 4"),
        (("hilbert", 8, 4), "`storage.ordering` is 'hilbert': choose one of in_memory, beta, comet"),
    ],
)
def test_what_cannot_work_is_refused(arguments, words):
    with pytest.raises(UserError, match=words):
        make_plan(*arguments, 0, 0)


@pytest.mark.parametrize("ordering", ["beta", "comet"])
def test_planning_is_fast(ordering):
    """CPU time, best of three: the machine may be busy."""

    def seconds(capacity):
        start = time.process_time()
        make_plan(ordering, 64, capacity, 0, 0)
        return time.process_time() - start

    assert max(min(seconds(c) for _ in range(3)) for c in (2, 3, 8, 32)) < 0.1


def test_planning_leaves_the_global_generator_alone():
    np.random.seed(0)
    expected = np.random.random()
    np.random.seed(0)
    make_plan("comet", 16, 4, 0, 0)
    assert np.random.random() == expected
