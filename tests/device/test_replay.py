"""Batches that are alike are repeated, all others learned from call by call: with the same results, on a GPU and emulated."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.config.memory import GRAPH_BYTES, LOOK_BACK, RING
from marius_lite.device import replay
from marius_lite.device.batches import DeviceBatches, NewBatch
from marius_lite.device.links import ZeroCopy
from marius_lite.device.replay import LEAST, SEEN
from marius_lite.device.rows import DeviceTable, RowForm, RowStepSettings
from marius_lite.device.sent import Repeated, SentBatch
from marius_lite.optim.rows import ROW_OPTIMIZERS
from marius_lite.sampling.batch_rows import RowTracker
from marius_lite.storage.record import record_of

NODES, DIM = 256, 4


class Training:
    """Batches over a table of one column kind, whose work counts how often the host did it."""

    def __init__(self, device, repeats=True, graphs=GRAPH_BYTES):
        record = record_of("adagrad", DIM)
        self.table = np.zeros((NODES, record.width), np.float32)
        self.table[:, :DIM] = np.random.default_rng(0).normal(size=(NODES, DIM))
        step = RowStepSettings.of("adagrad", ROW_OPTIMIZERS["adagrad"](), 0.1)
        link = ZeroCopy(device, self.table, NODES, 4, 1)
        table = DeviceTable(device, link, None, RowForm(DIM), record.width, step)
        self.batches = DeviceBatches(device, [table], graphs=graphs)
        self.tracker, self.repeats = RowTracker(LOOK_BACK), repeats
        self.generator = torch.Generator(device.device)
        self.launched = self.repeated = 0

    def begin(self, rows, tag, rate=1.0):
        """A batch that changes ``rows``, by what arrives with it, by its rate, and by what it draws."""

        def learn(arrived):
            self.launched += 1
            values, there = arrived.values[0], arrived.tensor("tag")
            drawn = torch.rand(values.shape, device=values.device, generator=self.generator)
            grads = values * rate + there[0] + drawn
            return grads.sum(dtype=torch.float64), [grads]

        def count(batches):
            self.repeated += batches

        def seed():
            self.generator.manual_seed(int(tag))

        def seeded(arrived):
            seed()
            return learn(arrived)

        work = Repeated((len(rows), rate), seed, learn, count, [self.generator]) if self.repeats else seeded
        arrays = {"tag": np.array([tag]), "more": rows.astype(np.int32)}
        return self.batches.begin([NewBatch([self.tracker.track(rows)], arrays, work)])

    def run(self, plan):
        losses, under_way = [], []
        for each in plan:
            under_way.append(self.begin(*each))
            if len(under_way) == RING:
                losses += under_way.pop(0)()
        losses += [loss for end in under_way for loss in end()]
        self.batches.close()
        return losses, self.table[:, :DIM].copy()


def plan_of(seed, sizes, rates=(1.0,)):
    rng = np.random.default_rng(seed)
    return [(rng.permutation(NODES)[:size], int(rng.integers(100)), float(rng.choice(rates))) for size in sizes]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**30), st.lists(st.sampled_from([3, 5, 8]), min_size=1, max_size=40))
def test_the_bits_are_those_of_batches_launched_call_by_call(make_device, seed, sizes):
    plan = plan_of(seed, sizes, (1.0, 0.5))
    losses, table = Training(make_device(seed)).run(plan)
    expected, whole = Training(make_device(seed), repeats=False).run(plan)
    assert losses == expected
    assert table.tobytes() == whole.tobytes()


def test_what_is_frequent_is_captured_and_repeated(make_device):
    training = Training(make_device(0))
    training.run(plan_of(1, [6] * 30))
    assert training.repeated == 30 - SEEN - 1  # all but the first ones, and the one that was captured
    if training.generator.device.type == "cuda":
        assert training.launched == SEEN + 1


def test_what_is_rare_is_not(make_device):
    training = Training(make_device(0))
    training.run(plan_of(1, [size for size in range(1, 20) for _ in range(SEEN)]))
    assert training.repeated == 0


def test_graphs_are_kept_within_their_bytes(make_device):
    training = Training(make_device(0), graphs=3000)
    replays = training.batches._replays
    for rows, tag, rate in plan_of(1, [size for size in range(1, 40) for _ in range(SEEN + 2)]):
        training.begin(rows, tag, rate)()
        assert len(replays._graphs) <= LEAST or sum(graph.bytes for graph in replays._graphs.values()) <= 3000
    assert training.repeated == 39
    assert replays._graphs
    assert len(replays._seen) <= replay.NOTED
    training.batches.close()
    assert not replays._graphs
    assert not replays._dropped


def test_without_memory_for_graphs_there_are_none(make_device):
    training = Training(make_device(0), graphs=0)
    training.run(plan_of(1, [6] * 30))
    assert training.repeated == 0


@pytest.mark.parametrize("when", ["at once", "after the work", "at the second"])
def test_where_nothing_can_be_captured_batches_go_on_call_by_call(make_device, caplog, when):
    device, captured = make_device(0), []

    def refuse(work, generators):
        captured.append(work)
        if when == "at the second" and len(captured) == 1:
            return device.capture(work, generators)
        if when == "after the work":
            work()
        raise RuntimeError("operation not permitted when stream is capturing\nmore")

    plan = plan_of(2, [5] * (SEEN + 4) + [6] * (SEEN + 4) + [5] * 4)
    training = Training(dataclasses.replace(device, capture=refuse))
    losses, table = training.run(plan)
    expected, whole = Training(make_device(0), repeats=False).run(plan)
    assert (losses, table.tobytes()) == (expected, whole.tobytes())
    assert training.repeated == {"at once": 0, "after the work": -1, "at the second": 3}[when]
    assert len(captured) == 1 + (when == "at the second")
    said = [record.message for record in caplog.records if "cannot be captured" in record.message]
    assert len(said) == 1
    assert said[0].endswith("not permitted when stream is capturing")


def test_arrays_of_other_sizes_are_not_put_into_a_graph(make_device):
    graph = replay.Graph.__new__(replay.Graph)
    graph._values, graph._bytes, graph._accelerator = [], 8, make_device(0)
    with pytest.raises(AssertionError, match="equal sizes"):
        graph._put([SentBatch([], {}, None)])
