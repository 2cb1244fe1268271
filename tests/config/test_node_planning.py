"""Where in-edge lists are, and how many batches are sampled together, follows from the memory that there is."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from marius_lite.config.facts import Facts, NodeFacts
from marius_lite.config.load import load
from marius_lite.config.node_planning import epoch_cost
from marius_lite.config.resolve import resolve
from marius_lite.errors import UserError
from marius_lite.sizes import format_bytes

MB = 1_000_000
SETTINGS = [
    "task=node_classification",
    "model.encoder=sage",
    "model.layers=[128]",
    "sampling.fanouts=[15,10]",
    "training.batch_size=1000",
    "evaluation.every_epochs=0",
]


def facts(nodes=10_000_000, partitions=32, degree=20):
    rows, lists = nodes // partitions, nodes // partitions * (4 * degree + 12)
    return Facts(
        nodes=nodes,
        relations=1,
        splits={"train": nodes // 20, "valid": 100},
        partitions=partitions,
        rows_per_partition=rows,
        bucket_counts=np.full((partitions, partitions), nodes * degree // partitions**2),
        stride=0,
        available_memory=64_000 * MB,
        threads=2,
        cuda=False,
        features=256,
        feature_width=128,
        lists=lists,
        all_lists=partitions * lists,
        nodes_to_classify=NodeFacts(10, nodes // 20, 2),
    )


def resolved(memory, *more, known=None):
    config = load(sets=[*SETTINGS, f"storage.memory={memory}MB", *more])
    return resolve(config, known or facts())


def test_lists_stay_in_memory_where_they_fit():
    for memory, lists in ((2500, "memory"), (1000, "disk")):
        config, plan = resolved(memory)
        assert (config.sampling.scope, config.sampling.lists) == ("exact", lists)
        assert plan.total <= memory * MB
        assert plan.packing.hot > 0
        assert plan.packing.together == 1 if lists == "memory" else plan.packing.together > 10


@pytest.mark.parametrize("asked", ["memory", "disk"])
def test_what_is_asked_for_is_done_or_refused(asked):
    config, plan = resolved(2500, f"sampling.lists={asked}")
    assert config.sampling.lists == asked
    assert (plan.packing.together == 1) == (asked == "memory")
    assert resolve(config, facts())[0] == config  # a resumed run
    too_small = 1000 if asked == "memory" else 200
    with pytest.raises(
        UserError, match=f"`sampling.scope` is exact, but this needs .*, `storage.memory` is {format_bytes(too_small * MB)}"
    ):
        resolved(too_small, f"sampling.lists={asked}", "sampling.scope=exact")


def test_no_more_batches_are_sampled_together_than_there_are():
    known = facts(nodes=160_000, partitions=8)
    assert resolved(2500, "sampling.lists=disk", known=known)[1].packing.together == 8  # of 1,000 of 8,000 nodes


def test_degrees_are_counted_where_the_encoder_asks_for_them():
    (_, gcn), (_, sage) = (resolved(1200, f"model.encoder={name}", "storage.capacity=1") for name in ("gcn", "sage"))
    assert gcn.edges - sage.edges == 4 * facts().nodes


def test_fewer_batches_are_sampled_together_where_memory_is_short():
    (less, few), (_, many) = resolved(900), resolved(1200)
    assert (less.sampling.scope, less.sampling.lists) == ("exact", "disk")
    assert few.total <= 900 * MB
    assert 1 <= few.packing.together < many.packing.together / 2


def test_disk_is_planned_for_an_epoch_s_batches_at_most():
    sets = ("training.batch_size=100", "sampling.fanouts=[2,2]", "storage.capacity=1")
    known = facts()
    few = replace(known, nodes_to_classify=NodeFacts(10, 1000, 1))
    (_, small), (_, large) = (resolved(1200, *sets, known=each) for each in (few, known))
    batch = small.packing.batch_bytes
    assert 10 * batch <= small.packing.window_rows * small.packing.row_bytes < 10 * batch + small.packing.row_bytes
    assert small.packing.disk < 31 * batch < large.packing.disk


@given(st.integers(900, 8000), st.sampled_from([256, 512, 1024, 2048]), st.sampled_from([5, 20, 60, 100]))
@settings(deadline=None, max_examples=40)
@example(5000, 1024, 100)
def test_of_the_exact_ways_that_fit_the_cheapest_is_taken(memory, row, degree):
    """By the bytes of an epoch, and none that fits by itself is refused. A resumed run chooses the same."""
    known, costs = replace(facts(degree=degree), features=row, feature_width=row // 2), {}
    for lists in ("memory", "disk", "auto"):
        with suppress(UserError):
            config, plan = resolved(memory, f"sampling.lists={lists}", "sampling.scope=exact", known=known)
            assert plan.total <= memory * MB
            costs[lists] = epoch_cost(config, known, plan, config.sampling.lists) if plan.packing else 0
            assert resolve(config, known)[0].sampling.lists == config.sampling.lists
    assert costs.get("auto") == min((cost for lists, cost in costs.items() if lists != "auto"), default=None)
