"""Measure, in about a second, what a row of this width costs on each path to this device."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from marius_lite.device.accelerator import Accelerator
from marius_lite.device.cache import RowCache
from marius_lite.device.chooser import Rates
from marius_lite.device.links import Link, Table
from marius_lite.device.packet import Packet, Sent
from marius_lite.types import Rows

ROWS = 1 << 16
"""Rows that are moved before the device is waited for, about."""
TIMES = 32
"""Times that rows are moved before it, at most."""
ROUNDS = 5
"""Times that each way is measured; the median counts."""


def measure(accelerator: Accelerator, table: Table, zero_copy: Link, staged: Link, rows: int, changes: bool = True) -> Rates:
    """The seconds a row takes by each path, in batches of ``rows`` random rows of the host's ``table``. Its content stays.

    ``changes``: whether rows also go back. Those that do are others than those that come meanwhile, as in a run.
    """
    width = table.shape[1]
    count = max(1, min(rows, ROWS, len(table) // 2))
    picked = np.random.default_rng(0).choice(len(table), 2 * count, replace=len(table) < 2 * count).astype(np.int64)
    (packet, coming), (other_packet, going) = (_sent(accelerator, np.sort(each)) for each in np.split(picked, 2))
    indices_packet, indices = _sent(accelerator, np.arange(count, dtype=np.int64))
    up = torch.empty((count, width), dtype=torch.float32, device=accelerator.device)
    down, cache = torch.empty_like(up), RowCache(accelerator, count, width)
    whole = torch.empty((min(ROWS, len(table)), width), dtype=torch.float32, device=accelerator.device)
    staging = [accelerator.host_bytes(up.nbytes).view(torch.float32).view(-1, width) for _ in range(2)]
    accelerator.order_new_memory()

    def travel(link: Link) -> float:
        """Seconds a row, up and down at the same time."""

        def fetch(rows: Sent, block: torch.Tensor, through: torch.Tensor) -> None:
            accelerator.gathering.run(lambda: link.fetch(accelerator.gathering, rows, count, block, through))

        def both_ways() -> None:
            fetch(coming, up, staging[0])
            if changes:
                accelerator.scattering.run(lambda: link.store(accelerator.scattering, going, count, down, staging[1]))

        fetch(going, down, staging[1])
        accelerator.gathering.record().wait()  # what goes back is what came
        return _seconds_of_row(accelerator, both_ways, count)

    def within() -> None:
        accelerator.computing.run(lambda: cache.fetch(indices, count, up))
        if changes:
            accelerator.computing.run(lambda: cache.store(indices, count, up))

    rates = Rates(
        travel(zero_copy),
        travel(staged),
        _seconds_of_row(accelerator, within, count),
        _seconds_of_row(accelerator, lambda: _move_block(accelerator, table, whole, len(whole), changes), len(whole)),
    )
    del packet, other_packet, indices_packet  # until here the host's side of what was sent had to stay
    return rates


def _sent(accelerator: Accelerator, array: Rows) -> tuple[Packet, Sent]:
    """Send an array to the device and wait for it; the packet that owns its memory, and the array."""
    packet = Packet(accelerator, array.nbytes)
    [sent] = packet.put([array])
    accelerator.computing.run(lambda: packet.send(accelerator.computing.handle))
    accelerator.computing.record().wait()
    return packet, sent


def _move_block(accelerator: Accelerator, table: Table, block: torch.Tensor, count: int, back: bool) -> None:
    """Copy the first ``count`` rows of the table in one go, there and ``back``."""
    size = count * table.shape[1] * 4

    def copy(target: int, source: int) -> None:
        accelerator.library.copy(
            device=accelerator.index, stream=accelerator.computing.handle, target=target, source=source, bytes=size
        )

    accelerator.computing.run(lambda: copy(block.data_ptr(), table.ctypes.data))
    if back:
        accelerator.computing.run(lambda: copy(table.ctypes.data, block.data_ptr()))


def _seconds_of_row(accelerator: Accelerator, work: Callable[[], None], count: int) -> float:
    """The median seconds of a row, where ``work`` moves ``count`` rows, several times before the device is waited for.

    So the start of a copy counts, as often as in a run, and the way back to the host does not. One round more does not count.
    """
    taken, times = [], min(TIMES, max(1, ROWS // count))
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        for _ in range(times):
            work()
        for stream in (accelerator.gathering, accelerator.computing, accelerator.scattering):
            stream.record().wait()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[1:]) / (times * count)
