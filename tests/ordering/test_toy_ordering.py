"""An ordering is one description and one line in a table: one that is none of the package's trains a run."""

import numpy as np
import pytest

import marius_lite as ml
from marius_lite.errors import UserError
from marius_lite.ordering import ORDERINGS, Ordering, Schedule, all_buckets, make_plan, spare_slots

SETTINGS = {
    "model": {"decoder": "distmult", "dim": 8},
    "storage": {"capacity": 2, "ordering": "pairs"},
    "training": {"epochs": 2, "batch_size": 200, "threads": 1},
    "negatives": {"count": 20, "chunks": 2},
}


# --8<-- [start:shown]
def pairs(partitions, capacity, rng):
    """Every pair of partitions is a step of its own, and the pairs come as they were drawn."""
    left, right = np.triu_indices(partitions, 1)
    steps = rng.permutation(np.stack([left, right], 1))
    buckets = all_buckets(partitions)
    together = (buckets[:, :1, None] == steps.T[None]) | (buckets[:, 1:, None] == steps.T[None])
    step_of = np.where(buckets[:, 0] == buckets[:, 1], together.any(1).argmax(1), together.all(1).argmax(1))
    return Schedule([tuple(step) for step in steps.tolist()], buckets, step_of)


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setitem(ORDERINGS, "pairs", Ordering(pairs, most_loaded=lambda partitions, capacity: 2))
    # --8<-- [end:shown]


def test_a_toy_ordering_trains(registered, tiny_dataset, tmp_path):
    config = ml.load_config(values=SETTINGS)
    plan = make_plan("pairs", 4, 2, 0, 0)
    assert len(plan.steps) == 6
    assert sorted(bucket for step in plan.steps for bucket in step.buckets) == sorted(map(tuple, all_buckets(4).tolist()))
    assert all(set(bucket) <= set(step.resident) for step in plan.steps for bucket in step.buckets)
    assert spare_slots("pairs", 4, 2) == 2
    assert ml.plan_run(tiny_dataset, config)["memory"]["slots"] == 4
    ml.train_run(tiny_dataset, tmp_path / "run", config)
    assert ml.evaluate_run(tmp_path / "run", "test")["mrr"] > 0


def test_without_its_line_it_is_refused_by_name():
    with pytest.raises(UserError, match=r"`storage\.ordering` is 'pairs': .*'auto', 'in_memory', 'beta', 'comet', 'node_class"):
        ml.load_config(values=SETTINGS)
