"""The choice of a path on synthetic rates, and what a step is expected to touch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.device.chooser import Load, Rates, choose, distinct, expected_loads, node_loads, rows_of_batch, seconds
from marius_lite.ordering import make_plan
from marius_lite.ordering.plan import make_node_plan
from marius_lite.sampling.windows import Cut

RATE = st.floats(1e-9, 1e-5)


@given(RATE, RATE, RATE, RATE, st.lists(st.tuples(st.floats(1, 1e9), st.integers(0, 10**9)), min_size=1, max_size=5))
def test_the_choice_takes_least(zero_copy, staged, cached, partition, loads):
    rates, loads = Rates(zero_copy, staged, cached, partition), [Load(*load) for load in loads]
    taken = seconds(rates, loads)
    assert taken[choose(rates, loads, 10, 10).path] == min(taken.values())
    without = choose(rates, loads, 11, 10)
    assert taken[without.path] == min(taken["zero_copy"], taken["staged"])
    assert all(name in without.why for name in taken)
    assert "storage.device_memory" in without.why


@pytest.mark.parametrize(("touched", "path"), [(1e5, "zero_copy"), (1e8, "bulk")])
def test_few_rows_travel_alone_and_many_in_bulk(touched, path):
    """A kernel reads 35 GB/s over the link, the copy engine 52, of rows of 512 bytes."""
    rates = Rates(zero_copy=512 / 35e9, staged=512 / 20e9, cached=512 / 1e12, partition=2 * 512 / 52e9)
    assert choose(rates, [Load(touched, 10**6)], 0, 1).path == path


def test_bulk_wins_once_the_rows_touched_outweigh_the_partition():
    rates = Rates(zero_copy=1 / 35, staged=1, cached=0, partition=1 / 52)
    assert choose(rates, [Load(0.63 * 1e6, 10**6)], 0, 1).path == "zero_copy"
    assert choose(rates, [Load(0.70 * 1e6, 10**6)], 0, 1).path == "bulk"


def test_expected_rows_are_those_of_a_simulation():
    rng = np.random.default_rng(0)
    seen = np.mean([len(np.unique(rng.integers(500, size=700))) for _ in range(200)])
    assert distinct(500, 700) == pytest.approx(seen, rel=0.01)
    assert distinct(1, 9) == 1
    assert distinct(10**9, 1) == pytest.approx(1)


def test_loads_follow_the_plan():
    counts = np.full((8, 8), 100)
    plan = make_plan("comet", 8, 4, 0, 0)
    loads = expected_loads(plan, counts, 50, Cut(1000, even=False), 10)
    assert [load.moved for load in loads] == [50 * len(step.load) for step in plan.steps]
    assert [load.batches for load in loads] == [-(-len(step.buckets) * 100 // 1000) for step in plan.steps]
    assert all(
        0 < load.touched <= 200 * -(-len(step.buckets) * 100 // 1000) for load, step in zip(loads, plan.steps) if step.buckets
    )


def test_loads_of_nodes_follow_the_plan():
    plan = make_node_plan("node_classification", 8, 3, 2, 0, 0)
    nodes = [95] * len(plan.steps)
    loads = node_loads(plan, nodes, 50, 10, 10**6)
    assert [load.moved for load in loads] == [50 * len(step.load) for step in plan.steps]
    assert all(load.touched == pytest.approx(10 * 50 * len(step.resident)) for load, step in zip(loads, plan.steps))
    assert rows_of_batch(loads) == pytest.approx(50 * np.mean([len(step.resident) for step in plan.steps]), abs=1)
    assert rows_of_batch([]) == 1
    assert all(load.touched < 10 * 20 for load in node_loads(plan, nodes, 50, 10, 20))


def test_rates_of_tables_taken_together_add_up():
    assert Rates(1, 2, 3, 4) + Rates(10, 20, 30, 40) == Rates(11, 22, 33, 44)
