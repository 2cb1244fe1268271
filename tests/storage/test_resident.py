"""Rows of a buffer are found through what is alive as long as they are resident; who keeps it longer is told."""

import time

import numpy as np
import pytest

from marius_lite.errors import RunError
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import RowTable


@pytest.fixture
def buffer(tmp_path):
    table = RowTable.create(tmp_path / "table", 10, 4, 3)
    made = PartitionBuffer(table, slots=2, threads=1)
    for k in range(table.partitions):
        made.adopt(k)[:] = k
        made.mark_dirty([k])
        made.enter([k])
    made.await_writes()
    yield made
    made.close()


def test_what_was_entered_is_found(buffer):
    resident = buffer.enter([2, 0])
    assert resident is buffer.resident
    assert resident.alive
    assert sorted(resident.base_rows()) == [0, 2]
    for k, size in ((0, 3), (2, 3)):
        assert (resident.view(k) == k).all()
        assert len(resident.view(k)) == size
        base = resident.base_rows()[k]
        assert (buffer.rows[base : base + size] == k).all()


def test_another_enter_ends_it(buffer):
    before = buffer.enter([0, 1])
    after = buffer.enter([1, 2])
    assert not before.alive
    for call in (lambda: before.view(1), lambda: before.base_row(1), before.base_rows, lambda: before.add(2)):
        with pytest.raises(RuntimeError, match=r"partitions \[0, 1\] were resident until the buffer was entered again or closed"):
            call()
    assert (after.view(1) == 1).all()


def test_one_that_fails_does_not(buffer):
    before = buffer.enter([0])
    with pytest.raises((RunError, ValueError)):
        buffer.enter([0, 1, 2])
    assert (before.view(0) == 0).all()


def test_closing_ends_it(buffer):
    before = buffer.enter([0])
    buffer.close()
    with pytest.raises(RuntimeError, match="were resident until"):
        before.view(0)


def test_only_what_was_asked_for_is_found(buffer):
    resident = buffer.enter([0], [1])
    while buffer.state(1) != "resident":
        time.sleep(1e-3)
    with pytest.raises(ValueError, match=r"partition 1 is not resident: \[0\] are"):
        resident.view(1)
    resident = buffer.enter([0])
    buffer.adopt(3)
    assert np.array_equal(resident.view(3), np.zeros((1, 4), np.float32))
