"""Batches begun together, whose rows are all cached, end as if begun one after the other: same bits, and in fewer launches."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.config.memory import RING, TOGETHER
from marius_lite.device.batches import DeviceBatches, NewBatch
from marius_lite.device.cache import SPARE_ROWS, FullCache
from marius_lite.device.links import ZeroCopy
from marius_lite.device.replay import SEEN
from marius_lite.device.rows import DeviceTable, RowForm, RowStepSettings
from marius_lite.device.sent import Repeated
from marius_lite.optim.rows import ROW_OPTIMIZERS
from marius_lite.sampling.batch_rows import FilledRows, RowTracker
from marius_lite.storage.record import record_of

NODES, DIM = 64, 4
SIZES = st.lists(st.sampled_from([3, 5]), min_size=1, max_size=60)


@dataclass
class Training:
    """Batches over a table that is cached whole (or not). They are given to the device ``together`` at a time."""

    device: object
    together: int
    cached: bool = True
    draws: bool = False

    def __post_init__(self):
        record = record_of("adagrad", DIM)
        self.table = np.zeros((NODES, record.width), np.float32)
        self.table[:, :DIM] = np.random.default_rng(0).normal(size=(NODES, DIM))
        cache = FullCache(self.device, self.table, NODES) if self.cached else None
        if cache:
            cache.enter({0: 0})
        step = RowStepSettings.of("adagrad", ROW_OPTIMIZERS["adagrad"](), 0.1)
        link = ZeroCopy(self.device, self.table, NODES, 4, 1)
        table = DeviceTable(self.device, link, cache, RowForm(DIM), record.width, step)
        self.batches = DeviceBatches(self.device, [table])
        self.find = FilledRows(table.spare).find if self.cached else RowTracker(0).track
        self.generator = torch.Generator(self.device.device)
        self.launched = self.repeated = 0

    def new(self, places, tag):
        def learn(arrived):
            self.launched += 1
            values, there = arrived.values[0], arrived.tensor("tag")
            grads = values * 2 + there[0]
            if self.draws:
                grads = grads + torch.rand(values.shape, device=values.device, generator=self.generator)
            return grads.sum(dtype=torch.float64), [grads]

        def count(batches):
            self.repeated += batches

        generators = [self.generator] if self.draws else []
        work = Repeated(len(places), lambda: self.generator.manual_seed(tag), learn, count, generators)
        return NewBatch([self.find(places)], {"tag": np.array([tag])}, work)

    def run(self, plan):
        losses, under_way = [], []
        for start in range(0, len(plan), self.together):
            under_way.append(self.batches.begin([self.new(*each) for each in plan[start : start + self.together]]))
            if len(under_way) == RING:
                losses += under_way.pop(0)()
        losses += [loss for end in under_way for loss in end()]
        for table in self.batches.tables:
            table.cache.leave(())
        self.batches.close()
        return losses, self.table.tobytes()


def plan_of(seed, sizes):
    rng = np.random.default_rng(seed)
    return [(rng.integers(NODES, size=size), int(rng.integers(100))) for size in sizes]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**30), SIZES, st.integers(2, TOGETHER), st.booleans())
def test_the_bits_are_those_of_one_after_the_other(make_device, seed, sizes, together, draws):
    plan = plan_of(seed, sizes)
    assert Training(make_device(seed), together, draws=draws).run(plan) == Training(make_device(seed), 1, draws=draws).run(plan)


def test_groups_that_are_alike_are_one_graph(make_device):
    training = Training(make_device(0), 4)
    captured, capture = [], training.device.capture

    def counted(work, generators):
        captured.append(work)
        return capture(work, generators)

    object.__setattr__(training.device, "capture", counted)
    training.run(plan_of(1, [5] * 4 * (SEEN + 3)))
    assert len(captured) == 2  # of one batch, while groups are still rare; then of a group
    assert training.repeated == 4 * SEEN - SEEN - 1 + 4 * 2


def test_where_batches_draw_they_are_seeded_one_by_one(make_device):
    training = Training(make_device(0), 4, draws=True)
    training.run(plan_of(1, [5] * 40))
    assert training.repeated == 40 - SEEN - 1
    assert all(len(key) == 1 for key in training.batches._replays._seen)


def test_batches_whose_rows_are_elsewhere_begin_alone(make_device):
    training = Training(make_device(0), 2, cached=False)
    with pytest.raises(ValueError, match="2 batches together, though not all rows are cached"):
        training.batches.begin([training.new(*each) for each in plan_of(1, [3, 3])])


def test_a_batch_is_filled_with_different_rows():
    spare = range(NODES, NODES + SPARE_ROWS)
    rows = FilledRows(spare).find(np.zeros(SPARE_ROWS, np.int64)).rows
    assert rows[0] == 0
    assert len(set(rows.tolist())) == SPARE_ROWS
