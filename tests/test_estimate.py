"""The bytes of an epoch, counted from its plan, against the closed formulas and against real buffers."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.config.load import load
from marius_lite.config.schedule import checkpoint_due, evaluation_due
from marius_lite.estimate import MovedSizes, batches_of, moves, plan_run, remark_of_batches, traffic
from marius_lite.evaluate.pages import Pages
from marius_lite.graph.partitioning import Partitioning
from marius_lite.ordering import beta_swaps, comet_shape, make_plan, spare_slots
from marius_lite.rows.first_rows import initialise
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import RowTable
from marius_lite.types import EpochPlan, Step


def one_epoch(ordering, p, c, prefetch=False):
    """Traffic of an epoch that begins with an empty buffer, whose partitions hold 1,000 bytes."""
    config = load(
        sets=[
            f"storage.capacity={c}",
            f"storage.ordering={ordering}",
            f"storage.prefetch={str(prefetch).lower()}",
            "training.epochs=2",
            "evaluation.every_epochs=1",
        ]
    )
    slots = c + (spare_slots(ordering, p, c) if prefetch else 0)
    sizes = MovedSizes(1000, 0, [0] * p, p, 120, 120)
    return list(traffic(config, lambda epoch: make_plan(ordering, p, c, 0, epoch), sizes, p, slots))[1]


@pytest.mark.parametrize(("p", "c"), [(8, 2), (16, 4), (16, 5), (64, 8)])
def test_beta_bytes_meet_the_formula(p, c):
    moved = one_epoch("beta", p, c)
    assert moved.rows_written == (beta_swaps(p, c) + c) * 1000
    assert moved.rows_read in (moved.rows_written, moved.rows_written - 1000)  # the evaluation before left one resident


def test_comet_bytes_meet_the_formula():
    l, held = comet_shape(16, 4)
    moved = one_epoch("comet", 16, 4)
    assert moved.rows_written == (beta_swaps(l, held) + held) * 16 // l * 1000 == 58000
    assert moved.rows_read in (58000, 57000)


@pytest.mark.parametrize(("ordering", "p", "c"), [("comet", 16, 4), ("comet", 32, 8), ("beta", 16, 4)])
def test_prefetching_into_spare_slots_saves_reads(ordering, p, c):
    assert one_epoch(ordering, p, c, prefetch=True).rows_read < one_epoch(ordering, p, c).rows_read


@given(st.integers(100, 3000), st.sampled_from([50, 400, 3000]), st.booleans())
@settings(deadline=None)
def test_the_batches_of_an_epoch_are_counted_and_small_ones_remarked_on(edges, size, even):
    """As many as the plan's steps and windows have; a remark only where they are smaller than asked for."""
    config = load(sets=[f"training.batch_size={size}", f"training.even_batches={str(even).lower()}"])
    counts = np.full((8, 8), edges)
    plan = make_plan("comet", 8, 4, 0, 0)
    steps = [edges * len(step.buckets) for step in plan.steps if step.buckets]
    total = 64 * edges
    batches = sum(batches_of(config, plan, counts, total))
    if even:
        assert batches == sum(max(1, int(each / size + 0.5)) for each in steps)
    else:
        assert batches == sum(-(-each // size) for each in steps)
    remarks = remark_of_batches(config, batches, total)
    assert len(remarks) == (batches > 1.05 * total / size + 1)


class Settled:
    """A buffer whose transfers have all ended before its next call: what it loads and writes then depends on no clock."""

    def __init__(self, buffer):
        self._buffer, self.slots = buffer, buffer.slots

    def enter(self, now, next=()):
        resident = self._buffer.enter(now, next)
        while any(self._buffer.state(k) in ("loading", "writing") for k in range(self._buffer.table.partitions)):
            time.sleep(1e-4)
        return resident

    def moved(self):
        counters = self._buffer.counters()
        return int(counters["loads"]), int(counters["writes"])


def trained(config, plans, buffer, partitioning):
    """(loads, writes) of each epoch, by a buffer that takes the calls that a run makes."""
    settled = Settled(buffer)
    initialise(buffer, config)
    for epoch, plan in enumerate(plans):
        before = settled.moved()
        first_after = plans[epoch + 1].steps[:1] if epoch + 1 < len(plans) and not evaluation_due(config, epoch) else (None,)
        for step, after in zip(plan.steps, [*plan.steps[1:], *first_after]):
            ahead = set(after.resident) - set(step.resident) if after and config.storage.prefetch else ()
            settled.enter(step.resident, sorted(ahead))
            buffer.mark_dirty(step.resident)
        if checkpoint_due(config, epoch) or evaluation_due(config, epoch):
            buffer.flush()
        yield tuple(now - then for now, then in zip(settled.moved(), before))
        if evaluation_due(config, epoch):
            for _ in Pages(settled, partitioning, 4).each(range(partitioning.partitions)[::-1]):
                pass


@st.composite
def runs(draw):
    """(settings, plans, slots): any steps in any order, with or without slots to spare."""
    partitions = draw(st.integers(1, 7))
    capacity = draw(st.integers(1, partitions))
    resident = st.lists(st.integers(0, partitions - 1), min_size=1, max_size=capacity, unique=True).map(sorted)
    step = st.builds(Step, st.just(0), resident.map(tuple), st.just(()), st.just(()))
    plan = st.builds(
        EpochPlan,
        st.just("any"),
        st.just(partitions),
        st.just(capacity),
        st.just(0),
        st.lists(step, min_size=1, max_size=6).map(tuple),
    )
    plans = draw(st.lists(plan, min_size=1, max_size=4))
    chosen = {
        "storage.prefetch": str(draw(st.booleans())).lower(),
        "training.epochs": len(plans),
        "model.dim": 4,
        "evaluation.every_epochs": draw(st.integers(0, 3)),
        "checkpoint.every_epochs": draw(st.integers(1, 3)),
    }
    return [f"{key}={value}" for key, value in chosen.items()], plans, capacity + draw(st.integers(0, 3))


@settings(max_examples=60, deadline=None)
@given(runs())
def test_a_real_buffer_loads_and_writes_what_is_estimated(tmp_path_factory, run):
    sets, plans, slots = run
    config, partitioning = load(sets=sets), Partitioning(3 * plans[0].partitions, plans[0].partitions)
    table = RowTable.create(tmp_path_factory.mktemp("rows") / "t", partitioning.nodes, 8, partitioning.rows)
    with PartitionBuffer(table, slots, threads=2) as buffer:
        counted = list(trained(config, plans, buffer, partitioning))
    estimated = moves(config, plans.__getitem__, partitioning.partitions, slots, learned=True)
    assert counted == [(len(moved.loaded), moved.written) for moved in estimated]


@pytest.mark.parametrize("room", [True, False])
def test_edges_that_are_kept_are_read_once(tiny_dataset, room, monkeypatch):
    if not room:
        monkeypatch.setattr("marius_lite.config.memory.MOST_KEPT", 0)
    plan = plan_run(tiny_dataset, load(sets=["storage.capacity=2", "training.epochs=2"]))
    assert plan["memory"]["kept_edges"] == room * plan["edges"]
    assert plan["first_epoch"]["edges_read"] == 12 * plan["edges"]
    assert plan["later_epoch"]["edges_read"] == (0 if room else 12 * plan["edges"])
