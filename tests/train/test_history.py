import pytest

from marius_lite.ordering.plan import make_plan
from marius_lite.train.history import NEVER, last_left


@pytest.mark.parametrize("ordering", ["comet", "beta"])
def test_history_equals_what_a_run_would_have_noted(ordering):
    def plan_of(epoch):
        return make_plan(ordering, 8, 4, 3, epoch)

    left, before = dict.fromkeys(range(8), NEVER), ()
    for epoch in range(4):
        for step in plan_of(epoch).steps:
            for k in set(before) - set(step.resident):
                left[k] = (epoch, step.index)
            before = step.resident
            for k in set(range(8)) - set(step.resident):
                assert last_left(plan_of, epoch, step.index, k) == left[k]
