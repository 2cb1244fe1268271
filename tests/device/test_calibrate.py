"""Calibration gives a positive rate for each way and leaves the host's rows as they are."""

import dataclasses

import numpy as np
import pytest
from emulated import accelerator
from happens_before import Allocations, Trace, TracedLibrary

from marius_lite.device import calibrate
from marius_lite.device.calibrate import measure
from marius_lite.device.chooser import Load, choose
from marius_lite.device.links import Staged, ZeroCopy


@pytest.mark.parametrize("changes", [True, False])
def test_rates_of_this_device(host_library, changes):
    device, _ = accelerator(host_library)
    table = np.random.default_rng(0).random((3000, 20), np.float32)
    before = table.copy()
    pinned = ZeroCopy(device, table, 1000, 8, 1)
    rates = measure(device, table, pinned, Staged(device, table, 1), 700, changes)
    assert min(rates.zero_copy, rates.staged, rates.cached, rates.partition) > 0
    np.testing.assert_array_equal(table, before)
    assert choose(rates, [Load(1000.0, 3000)], table.nbytes, table.nbytes).path in ("zero_copy", "staged", "bulk")
    pinned.close()


@pytest.mark.parametrize("changes", [True, False])
def test_no_stream_uses_memory_before_torch_is_done_with_it(host_library, monkeypatch, changes):
    """What goes back to the host's rows is what came from them, also where torch's stream is late."""
    monkeypatch.setattr(calibrate, "ROWS", 60)
    device, schedule = accelerator(host_library)
    trace = Trace(schedule)
    device = dataclasses.replace(device, library=TracedLibrary(device.library, trace))
    table = np.random.default_rng(0).random((50, 20), np.float32)
    pinned = ZeroCopy(device, table, 10, 8, 1)
    with Allocations(trace, monkeypatch):
        measure(device, table, pinned, Staged(device, table, 1), 30, changes)
    assert any(node.name.startswith("allocation") for node in trace.nodes)
    assert trace.unordered() == []
    pinned.close()
