"""Batches under way at the same time, over every path, in any legal order of the streams: the bits of one after the other."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from emulated import accelerator
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.config.load import load
from marius_lite.config.memory import LOOK_BACK, RING
from marius_lite.device.batches import DeviceBatches, NewBatch
from marius_lite.device.cache import FullCache, HotRowCache
from marius_lite.device.links import Staged, ZeroCopy
from marius_lite.device.rows import DeviceTable, RowForm, RowStepSettings, TablePart
from marius_lite.optim.rows import ROW_OPTIMIZERS
from marius_lite.pipeline.batches import Streamed, run
from marius_lite.rows.host import HostGather, HostRowUpdater
from marius_lite.sampling.batch_rows import RowTracker
from marius_lite.storage.record import record_of
from marius_lite.types import DeviceBatch, EdgeBatch, RowGrads, SampledBatch

DIM, ROWS, BATCH, COUNT = 5, 64, 6, 4
SLOT_ROWS = 16


def make_table(optimizer, seed):
    table = np.zeros((ROWS, record_of(optimizer, DIM).width), np.float32)
    table[:, :DIM] = np.random.default_rng(seed).normal(size=(ROWS, DIM))
    return table


def make_batches(count, seed, nodes=20):
    """Few nodes, so that successive batches share most of their rows."""
    rng = np.random.default_rng(seed)

    def sampled(index):
        size = BATCH if index % 3 else rng.integers(1, BATCH + 1)
        edges = EdgeBatch(0, 0, index, rng.integers(nodes, size=size), rng.integers(nodes, size=size), rng.integers(3, size=size))
        return SampledBatch(edges, rng.integers(ROWS, size=(2, 1, COUNT)), index)

    return [sampled(index) for index in range(count)]


def learn(batch):
    """Any function of the gathered rows whose gradients depend on all of them, with the same bits on every device: there are no
    sums, and the only products are with powers of two."""
    grads = (
        batch.src * 2 + batch.rel[:, None],
        batch.dst / 2 - batch.src,
        batch.negatives[0].reshape(-1, DIM),
        batch.negatives[1].reshape(-1, DIM) / 4,
    )
    return torch.stack([grad.max() for grad in grads]).max().double(), grads


def on_the_host(table, batches, optimizer):
    updater, gather = HostRowUpdater(ROW_OPTIMIZERS[optimizer](), DIM, 0.1), HostGather(table, DIM)
    losses = []
    for sampled in batches:
        loss, grads = learn(DeviceBatch.of(sampled, gather(sampled.places), torch.from_numpy(sampled.edges.rel)))
        losses.append(float(loss))
        negatives = [side.reshape(-1) for side in sampled.negatives]
        updater.apply(table, RowGrads((sampled.edges.src, sampled.edges.dst, *negatives), [g.contiguous() for g in grads]))
    return losses


def make_path(path, device, table, cached=0):
    staged = Staged(device, table, 1)
    link = staged if path == "staged" else ZeroCopy(device, table, SLOT_ROWS, 8, 1)
    if path == "bulk":
        cache = FullCache(device, table, SLOT_ROWS)
        cache.enter({k: k * SLOT_ROWS for k in range(ROWS // SLOT_ROWS)})
        return link, cache
    if not cached:
        return link, None
    cache = HotRowCache(device, cached, table.shape[1], link, copy_rows=3)
    cache.choose(np.random.default_rng(1).integers(30, size=100))
    return link, cache


def device_rows(device, table, path, optimizer, cached=0, room=0):
    link, cache = make_path(path, device, table, cached)
    update = RowStepSettings.of(optimizer, ROW_OPTIMIZERS[optimizer](), 0.1)
    return DeviceBatches(device, [DeviceTable(device, link, cache, RowForm(DIM), table.shape[1], update, room)], room * 64)


def through_streams(rows, batches):
    tracker = RowTracker(LOOK_BACK, rows.tables[0].hot)

    def begin(pairs):
        [(sampled, touched)] = pairs

        def learned(here):
            return learn(DeviceBatch.of(sampled, here.values[0], here.tensor("rel")))

        return rows.begin([NewBatch([touched], {"rel": sampled.edges.rel}, learned)])

    stages = Streamed(lambda b: b, lambda b: (b, tracker.track(b.places)), begin, RING)
    return [finished.loss for finished in run(batches, stages, 0, lambda: False)]


@pytest.mark.parametrize(("path", "cached"), [("zero_copy", 0), ("staged", 0), ("bulk", 0), ("zero_copy", 7), ("staged", 7)])
@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(ROW_OPTIMIZERS)), st.integers(0, 2**30), st.integers(1, 12))
def test_same_bits_as_one_after_the_other(make_device, path, cached, optimizer, seed, count):
    batches = make_batches(count, seed)
    expected = make_table(optimizer, seed)
    losses = on_the_host(expected, batches, optimizer)
    table = make_table(optimizer, seed)
    rows = device_rows(make_device(seed), table, path, optimizer, cached, room=seed % 2 * 20)
    assert through_streams(rows, batches) == losses
    cache = rows.tables[0].cache
    if cache:
        cache.write_back()
        np.testing.assert_array_equal(table, expected)
        cache.leave(())
    np.testing.assert_array_equal(table, expected)
    rows.close()


@pytest.mark.parametrize("broken", ["computed", "ended", "again"])
def test_the_schedules_find_a_missing_order(host_library, broken, monkeypatch):
    """The test above would see it: leave out one of the things that keep batches apart, and bits differ somewhere."""
    original = DeviceBatches._slot

    def forgetful(self, ago):
        slot = original(self, ago)
        if ago < 0:
            copy = object.__new__(type(slot))
            copy.__dict__.update(slot.__dict__)
            if broken in ("computed", "ended"):
                setattr(copy, broken, None)
            return copy
        return slot

    differs = False
    for seed in range(60):
        batches = make_batches(12, seed)
        if broken == "again":
            monkeypatch.setattr(TablePart, "take_shared", lambda *arguments: None)
        else:
            monkeypatch.setattr(DeviceBatches, "_slot", forgetful)
        expected, table = make_table("sgd", seed), make_table("sgd", seed)
        on_the_host(expected, batches, "sgd")
        device, _ = accelerator(host_library, seed)
        through_streams(device_rows(device, table, "zero_copy", "sgd"), batches)
        differs |= not np.array_equal(table, expected)
    assert differs


@pytest.mark.parametrize("name", ROW_OPTIMIZERS)
def test_what_one_description_says_holds_by_name_wherever_it_is_used(name, host_library):
    optimizer = ROW_OPTIMIZERS[name]()
    assert load(sets=[f"optimizer.rows.name={name}"]).optimizer.rows.name == name
    record = record_of(name, DIM)
    update = RowStepSettings.of(name, optimizer, 0.1)
    there = {"device": 0, "stream": 0, "block": 64, "grads": 64, "count": 0, "dim": DIM, "lr": update.lr, **update.options}
    host_library.row_step(kind=update.kind, stride=record.stride, **there)
    with pytest.raises(RuntimeError, match=f"at least {4 * (DIM + record.state_columns)}, is needed"):
        host_library.row_step(kind=update.kind, stride=4 * (DIM + record.state_columns) - 4, **there)
