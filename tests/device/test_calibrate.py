"""Calibration gives a positive rate for each way and leaves the host's rows as they are."""

import numpy as np
import pytest
from emulated import accelerator

from marius_lite.device.calibrate import measure
from marius_lite.device.chooser import Load, choose
from marius_lite.device.links import Staged, ZeroCopy


@pytest.mark.parametrize("changes", [True, False])
def test_rates_of_this_device(host_library, changes):
    device, _ = accelerator(host_library)
    table = np.random.default_rng(0).random((3000, 20), np.float32)
    before = table.copy()
    pinned = ZeroCopy(device, table, 1000, 8, 1)
    rates = measure(device, table, pinned, Staged(device, table, 1), changes)
    assert min(rates.zero_copy, rates.staged, rates.cached, rates.partition) > 0
    np.testing.assert_array_equal(table, before)
    assert choose(rates, [Load(1000.0, 3000)], table.nbytes, table.nbytes).path in ("zero_copy", "staged", "bulk")
    pinned.close()
