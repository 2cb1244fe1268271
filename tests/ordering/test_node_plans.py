"""Every partition of training nodes is a target once and resident then; capacity is kept; others are drawn afresh."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.errors import UserError
from marius_lite.ordering import make_node_plan


@given(st.data(), st.integers(1, 64), st.integers(0, 2**30), st.integers(0, 9))
def test_properties(data, p, seed, epoch):
    c, training = data.draw(st.integers(1, p)), data.draw(st.integers(1, p))
    plan = make_node_plan("node_classification", p, c, training, seed, epoch)
    assert sorted(k for step in plan.steps for k in step.targets) == list(range(training))
    before = set()
    for step in plan.steps:
        resident = set(step.resident)
        assert set(step.targets) <= resident <= set(range(p))
        assert len(resident) == len(step.resident) == c
        assert (set(step.load), set(step.evict)) == (resident - before, before - resident)
        before = resident
    assert plan == make_node_plan("node_classification", p, c, training, seed, epoch)
    assert len(plan.steps) == 1 or training > c


def test_no_swap_inside_an_epoch_and_others_change_between_epochs():
    plans = [make_node_plan("node_classification", 32, 8, 3, 0, epoch) for epoch in range(6)]
    assert all(plan.swaps == 0 for plan in plans)
    assert len({plan.steps[0].resident for plan in plans}) == 6


def test_where_training_partitions_do_not_fit_they_take_turns_in_another_order_each_epoch():
    plans = [make_node_plan("node_classification", 16, 6, 9, 0, epoch) for epoch in range(12)]
    for plan in plans:
        assert [len(step.targets) for step in plan.steps] == [3, 3, 3]  # half of what is resident is trained
        assert all(step.targets == tuple(sorted(step.targets)) for step in plan.steps)
    assert len({tuple(step.targets for step in plan.steps) for plan in plans}) == 12
    beside = {k for plan in plans for step in plan.steps for k in set(step.resident) - set(step.targets)}
    assert beside == set(range(16))
    assert [len(step.targets) for step in make_node_plan("node_classification", 16, 1, 4, 0, 0).steps] == [1] * 4


@pytest.mark.parametrize("capacity", [0, 9])
def test_what_cannot_work_is_refused(capacity):
    with pytest.raises(UserError, match=f"`storage.capacity` is {capacity}, but the dataset has 8 partitions"):
        make_node_plan("node_classification", 8, capacity, 2, 0, 0)
