"""Batches that read one table and change another, in any legal order of the streams: the bits of one after the other."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from emulated import accelerator
from happens_before import Trace, TracedLibrary
from hypothesis import given, settings
from hypothesis import strategies as st
from test_device_rows import make_path

from marius_lite.config.memory import LOOK_BACK, RING
from marius_lite.device import batches as module
from marius_lite.device.batches import DeviceBatches, NewBatch
from marius_lite.device.cache import FullCache, HotRowCache
from marius_lite.device.packet import Packet
from marius_lite.device.rows import DeviceTable, RowForm, RowStepSettings
from marius_lite.errors import RunError
from marius_lite.graph.feature_types import STORED, decode
from marius_lite.optim.rows import ROW_OPTIMIZERS
from marius_lite.pipeline.batches import Streamed, run
from marius_lite.rows.host import HostRowUpdater
from marius_lite.sampling.batch_rows import ReadRows, RowTracker
from marius_lite.storage.record import record_of
from marius_lite.types import NodeBatch, RowGrads

ROWS, DIM, WIDTH = 64, 5, 10
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16, "int8": torch.int8}


def make_features(kind, seed):
    """Rows as a buffer holds them, 16-byte multiples apart, and the scales of their columns."""
    rng, stored = np.random.default_rng(seed), STORED[kind]
    width = -(-WIDTH * stored.itemsize // 16) * 16 // stored.itemsize
    scales = rng.random(WIDTH).astype(np.float32) if kind == "int8" else None
    if kind == "int8":
        return rng.integers(-127, 128, (ROWS, width)).astype(np.int8), scales
    values = rng.normal(size=(ROWS, width)).astype(np.float32)
    return (values.view(np.uint32) >> 16).astype(np.uint16) if kind == "bfloat16" else values.astype(stored), scales


def make_learned(seed):
    table = np.zeros((ROWS, record_of("adagrad", DIM).width), np.float32)
    table[:, :DIM] = np.random.default_rng(seed).normal(size=(ROWS, DIM))
    return table


def make_batches(count, seed):
    """(rows of the features, rows of the learned table, a tag) of each: more and more nodes, few of them new."""
    rng = np.random.default_rng(seed)
    picks = [rng.permutation(30 + index)[: rng.integers(1, 8 + 3 * index)] for index in range(count)]
    return [(pick, (pick + 7) % ROWS, np.array([index])) for index, pick in enumerate(picks)]


def learn(features, learned, tag):
    """Gradients that depend on every value, with the same bits everywhere."""
    grads = learned * 2 + features[:, :DIM] + tag
    return grads.max() + features.min(), [grads]


def on_the_host(features, kind, scales, learned, batches):
    updater, losses = HostRowUpdater(ROW_OPTIMIZERS["adagrad"](), DIM, 0.1), []
    values = torch.from_numpy(decode(features[:, :WIDTH], kind, scales))
    for read, changed, tag in batches:
        loss, grads = learn(values[torch.from_numpy(read)], torch.from_numpy(learned[changed, :DIM]), torch.from_numpy(tag))
        losses.append(float(loss))
        updater.apply(learned, RowGrads((changed,), [grad.contiguous() for grad in grads]))
    return losses


def on_device(device, path, features, kind, scales, learned, cached):
    tables = []
    step = RowStepSettings.of("adagrad", ROW_OPTIMIZERS["adagrad"](), 0.1)
    for rows, update in ((features.view(np.float32), None), (learned, step)):
        link, cache = make_path(path, device, rows)
        if cached:
            cache = HotRowCache(device, cached, rows.shape[1], link, 3, changes=update is not None)
            cache.choose(np.random.default_rng(2).integers(40, size=200))
        if isinstance(cache, FullCache):
            cache = FullCache(device, rows, ROWS // 4, changes=update is not None)
            cache.enter({k: k * ROWS // 4 for k in range(4)})
        by_column = None if scales is None else torch.from_numpy(scales).to(device.device)
        form = RowForm(DIM) if update else RowForm(WIDTH, DTYPES[kind], by_column)
        tables.append(DeviceTable(device, link, cache, form, rows.shape[1], update))
    return DeviceBatches(device, tables)


def through_streams(device, given):
    features, learned = device.tables
    tracker = RowTracker(LOOK_BACK, learned.hot)

    def begin(prepared):
        [(rows, tag)] = prepared
        return device.begin([NewBatch(rows, {"tag": tag}, lambda here: learn(*here.values, here.tensor("tag")))])

    def sample(batch):
        read, changed, tag = given[batch.index]
        return [ReadRows(features.hot).divide(read), tracker.track(changed)], tag

    batches = (NodeBatch(0, 0, index, one[0]) for index, one in enumerate(given))
    return [finished.loss for finished in run(batches, Streamed(lambda batch: batch, sample, begin, RING), 0, lambda: False)]


@pytest.mark.parametrize(("path", "cached"), [("zero_copy", 0), ("staged", 0), ("bulk", 0), ("zero_copy", 9), ("staged", 9)])
@settings(max_examples=20, deadline=None)
@given(st.sampled_from(sorted(STORED)), st.integers(0, 2**30), st.integers(1, 12))
def test_same_bits_as_one_after_the_other(make_device, path, cached, kind, seed, count):
    given = make_batches(count, seed)
    features, scales = make_features(kind, seed)
    untouched, expected, learned = features.copy(), make_learned(seed), make_learned(seed)
    losses = on_the_host(features, kind, scales, expected, given)
    batches = on_device(make_device(seed), path, features, kind, scales, learned, cached)
    assert through_streams(batches, given) == losses
    for table in batches.tables:
        if table.cache:
            table.cache.leave(())
    np.testing.assert_array_equal(learned, expected)
    np.testing.assert_array_equal(features, untouched)
    batches.close()


class Forgetful:
    """A stream whose waits for some other stream's events are left out."""

    def __init__(self, stream, other):
        self._stream, self._other = stream, other

    def after(self, event):
        if event is None or event.stream.name != self._other:
            self._stream.after(event)

    def __getattr__(self, name):
        return getattr(self._stream, name)


@pytest.fixture
def traced(host_library, monkeypatch):
    """Runs batches over a path; the trace, and for each batch whether its room was made anew."""

    def run(path, cached=0, **streams):
        device, schedule = accelerator(host_library, 3)
        if streams:  # what comes too early must not name rows that are nowhere
            monkeypatch.setattr(schedule, "choose", lambda ready: min(ready, key=lambda stream: stream.queue[0][2]))
        trace, grown, ignored = Trace(schedule), [], set()
        forgetful = {name: Forgetful(schedule.streams[name], other) for name, other in streams.items()}
        device = dataclasses.replace(device, library=TracedLibrary(device.library, trace), **forgetful)
        put, fetch, reserve = Packet.put, DeviceBatches._fetch, DeviceBatches._reserve

        def traced_put(packet, arrays):
            sent = put(packet, arrays)
            trace.on_the_host("put", writes=[(each.host, each.host + each.bytes) for each in sent])
            return sent

        def traced_fetch(batches, packet, sent):
            fetch(batches, packet, sent)
            for part in (
                part for batch in sent for part in batch.parts
            ):  # taken from an earlier block afterwards: what was read here is thrown away
                for row in {int(part.rows.rows[place]) for _, _, here in part.rows.again for place in here}:
                    start = learned.ctypes.data + row * learned.strides[0]
                    ignored.add((trace.current, (start, start + learned.strides[0])))

        def noted(*arguments):
            grown.append(reserve(*arguments))
            return grown[-1]

        monkeypatch.setattr(Packet, "put", traced_put)
        monkeypatch.setattr(DeviceBatches, "_fetch", traced_fetch)
        monkeypatch.setattr(DeviceBatches, "_reserve", noted)
        (features, scales), learned = make_features("int8", 0), make_learned(0)
        batches = on_device(device, path, features, "int8", scales, learned, cached)
        through_streams(batches, make_batches(12, 0))
        for table in batches.tables:
            if table.cache:
                table.cache.leave(())
        return trace, grown, trace.unordered(ignored)

    return run


@pytest.mark.parametrize(("path", "cached"), [("zero_copy", 0), ("staged", 0), ("bulk", 0), ("zero_copy", 9), ("staged", 9)])
def test_every_access_is_ordered(traced, path, cached):
    trace, _, unordered = traced(path, cached)
    assert unordered == []
    assert len(trace.nodes) > 40


@pytest.mark.parametrize(
    ("stream", "other"),
    [("computing", "gathering"), ("gathering", "computing"), ("gathering", "scattering"), ("scattering", "computing")],
)
def test_a_forgotten_event_is_found(traced, stream, other):
    assert traced("zero_copy", **{stream: other})[2]


def test_a_batch_is_gathered_while_the_one_before_computes(traced):
    """Memory made anew alone waits: the allocator may hand the gathering stream what the computing one still works with."""
    trace, grown, _ = traced("zero_copy")
    gathered, computed = (
        [(index, node) for index, node in enumerate(trace.nodes) if node.name.startswith(name)]
        for name in ("gathering", "computing")
    )
    assert len(gathered) == len(computed) == len(grown) == 12
    for batch in range(1, 12):
        behind = [bool(gathered[batch][1].before >> index & 1) for index, _ in computed[:batch]]
        assert all(behind[:-1])  # the last to use the block has computed
        assert behind[-1] == grown[batch]
    assert sum(grown[RING:]) >= 2
    assert not all(grown)


def test_of_tables_that_are_only_read_nothing_goes_back(host_library):
    device, schedule = accelerator(host_library, 1)
    features, scales = make_features("int8", 1)
    batches = on_device(device, "zero_copy", features, "int8", scales, make_learned(1), 0)
    alone = DeviceBatches(device, batches.tables[:1])
    new = NewBatch([ReadRows().divide(np.arange(5))], {}, lambda here: (here.values[0].sum(), []))
    ends = [alone.begin([new])()[0] for _ in range(6)]
    assert len(set(ends)) == 1
    assert not any(name == "scattering" and kind == "run" for name, kind, _ in schedule.trace)


@pytest.mark.parametrize(("path", "cached"), [("bulk", 0), ("zero_copy", 9)])
def test_what_is_held_of_them_neither(host_library, path, cached):
    device, _ = accelerator(host_library, 1)
    features, scales = make_features("int8", 1)
    untouched, learned = features.copy(), make_learned(1)
    before = learned.copy()
    read, changed = on_device(device, path, features, "int8", scales, learned, cached).tables
    device.computing.record().wait()
    for table in (read, changed):
        table.cache.records.fill_(7)
        table.cache.write_back()
        table.cache.leave(())
    np.testing.assert_array_equal(features, untouched)
    assert (learned != before).any()


def test_memory_that_does_not_suffice_is_told(host_library, monkeypatch):
    device, _ = accelerator(host_library, 1)
    features, scales = make_features("int8", 1)
    batches = on_device(device, "zero_copy", features, "int8", scales, make_learned(1), 0)

    def exhausted(*arguments):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.\nmore")

    monkeypatch.setattr(module.DeviceTable, "reserve", exhausted)
    rows = [ReadRows().divide(np.arange(5)), RowTracker(0).track(np.arange(5))]
    with pytest.raises(RunError, match=r"lower training.batch_size.* \(CUDA out of memory"):
        batches.begin([NewBatch(rows, {}, lambda here: None)])


def test_what_torch_cannot_do_deterministically_is_told(host_library, monkeypatch):
    device, schedule = accelerator(host_library, 1)
    features, scales = make_features("int8", 1)
    batches = on_device(device, "zero_copy", features, "int8", scales, make_learned(1), 0)
    for stream in schedule.streams.values():
        monkeypatch.setattr(stream, "run", lambda work: work())  # launched at once, as on a GPU
    rows = [ReadRows().divide(np.arange(5)), RowTracker(0).track(np.arange(5))]

    def fails(here):
        raise RuntimeError(told)

    told = "scatter_reduce_cuda does not have a deterministic implementation, but you set\nmore"
    with pytest.raises(RunError, match=r"scatter_reduce_cuda.*: use another model.encoder .*`training.staleness: 1`$"):
        batches.begin([NewBatch(rows, {}, fails)])
    told = "mat1 and mat2 shapes cannot be multiplied"
    with pytest.raises(RuntimeError, match=r"^mat1"):
        batches.begin([NewBatch(rows, {}, fails)])
