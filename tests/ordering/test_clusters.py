"""Cluster batches: every partition is in one group, every training partition a target once, and each epoch deals anew."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.ordering import make_node_plan
from marius_lite.ordering.clusters import order


@given(st.data(), st.integers(1, 64), st.integers(0, 2**30))
def test_groups_are_disjoint_and_hold_all_training_nodes(data, p, seed):
    q, training = data.draw(st.integers(1, p)), data.draw(st.integers(1, p))
    steps = order(p, q, training, np.random.default_rng(seed))
    together = [k for resident, _ in steps for k in resident]
    assert len(together) == len(set(together)) <= p
    assert sorted(k for _, targets in steps for k in targets) == list(range(training))
    for resident, targets in steps:
        assert targets == tuple(sorted(k for k in resident if k < training)) != ()
        assert -(-p // -(-p // q)) - 1 <= len(resident) <= q
    if training == p:
        assert len(together) == p


def test_each_epoch_deals_anew_and_all_at_once_is_one_step():
    plans = [make_node_plan("clusters", 32, 4, 32, 0, epoch) for epoch in range(6)]
    assert len({step.resident for plan in plans for step in plan.steps}) > 40
    assert all(len(plan.steps) == 8 and plan.swaps == 28 for plan in plans)
    assert plans[3] == make_node_plan("clusters", 32, 4, 32, 0, 3)
    (step,) = make_node_plan("clusters", 8, 8, 8, 0, 0).steps
    assert step.resident == step.targets == tuple(range(8))
