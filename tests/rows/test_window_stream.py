"""Windows go on from one epoch into the next. Each epoch has its own batches. The next one's first are packed meanwhile."""

import os
import threading
import time
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.config.packing import Packing
from marius_lite.rows.ahead import prepared_each
from marius_lite.rows.batch import PreparedBatch
from marius_lite.rows.packer import Packer
from marius_lite.rows.window_stream import WindowStream
from marius_lite.storage.table import RowTable
from marius_lite.types import NodeBatch

ROWS, WIDTH = 60, 4


@dataclass
class Sampler:
    """Prepares batches, and notes which."""

    fails_at: tuple[int, int] = (-1, -1)

    def __post_init__(self):
        self.prepared = []

    def __call__(self, batch):
        self.prepared.append((batch.epoch, batch.index))
        if self.prepared[-1] == self.fails_at:
            raise RuntimeError("cannot sample")
        return PreparedBatch(batch, None, [batch.nodes])


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    found = RowTable.create(tmp_path_factory.mktemp("table") / "rows", ROWS, WIDTH, 16)
    for k in range(found.partitions):
        with found.writing(k) as write:
            write(np.full((found.size(k), WIDTH), k, np.float32))
    return found


def batches_of(sizes):
    """As many batches in each epoch as ``sizes`` say, of three nodes each."""
    return [
        NodeBatch(epoch, 0, index, np.arange(3) + (5 * index + epoch) % (ROWS - 3))
        for epoch, size in enumerate(sizes)
        for index in range(size)
    ]


def key(batch):
    return batch.epoch, batch.step, batch.index


def streamed(table, folder, batches, window_rows=12, sampler=None):
    packer = Packer(table, Packing(0, 3, window_rows, WIDTH * 4), folder)
    return packer, WindowStream(packer, batches, prepared_each(sampler or Sampler(), None, 1), key)


def taken(stream):
    """The keys of an epoch's batches."""
    found = []
    for at in stream.epoch():
        found.append(at.key)
        if at.is_last:
            stream.done(at.window)
    return found


def until(condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@settings(max_examples=30, deadline=None)
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4), window=st.integers(1, 80))
def test_each_epoch_has_its_batches_in_order(table, tmp_path_factory, sizes, window):
    batches = batches_of(sizes)
    packer, stream = streamed(table, tmp_path_factory.mktemp("packs"), batches, window)
    for epoch in range(len(sizes)):
        assert taken(stream) == [key(batch) for batch in batches if batch.epoch == epoch]
        following = [batch for batch in batches if batch.epoch == epoch + 1]
        assert stream.goes_on() == bool(following)
        for batch in batches:
            assert stream.begins_with(batch) == (batch is (following or [None])[0])
    assert taken(stream) == []
    stream.close()
    packer.close()


def test_the_next_epoch_is_packed_before_it_is_asked_for(table, tmp_path):
    packer, stream = streamed(table, tmp_path, batches_of([4, 9]))
    packed, pack = [], packer.pack

    def noted(window, stop):
        done = pack(window, stop)
        packed.extend(window.keys)
        return done

    packer.pack = noted
    assert len(taken(stream)) == 4
    until(lambda: (1, 0, 0) in packed)
    assert len(taken(stream)) == 9
    stream.close()
    packer.close()


@pytest.mark.parametrize("epochs", [0, 1])
def test_nothing_stays_of_a_stream_that_is_closed(table, tmp_path, epochs):
    before, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    _, stream = streamed(table, tmp_path, batches_of([6, 600]))
    for _ in range(epochs):
        assert len(taken(stream)) == 6
    stream.close()
    assert not stream.goes_on()
    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == (before, threads)


def test_a_stream_ends_from_another_thread(table, tmp_path):
    packer, stream = streamed(table, tmp_path, batches_of([600]), 3)
    some = stream.epoch()
    assert next(some).key == (0, 0, 0)
    assert stream.end()
    assert stream.end()  # twice is once
    assert len(list(some)) < 10
    assert not stream.goes_on()
    stream.close()
    packer.close()


def test_an_error_in_a_later_epoch_ends_the_stream(table, tmp_path):
    packer, stream = streamed(table, tmp_path, batches_of([6, 6]), 9, Sampler((1, 3)))
    assert taken(stream) == [(0, 0, index) for index in range(6)]
    with pytest.raises(RuntimeError, match="cannot sample"):
        taken(stream)
    stream.close()
    packer.close()
