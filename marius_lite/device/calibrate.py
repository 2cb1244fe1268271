"""A second of measuring: what rows cost on each way to this device, at this record's width."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from marius_lite.device.accelerator import Accelerator
from marius_lite.device.chooser import Rates
from marius_lite.device.held import HeldTable
from marius_lite.device.links import Link, Table
from marius_lite.device.packet import Packet, Sent
from marius_lite.types import Rows

ROWS = 1 << 16
ROUNDS = 5


def measure(accelerator: Accelerator, table: Table, zero_copy: Link, staged: Link, changes: bool = True) -> Rates:
    """Rates over random rows of the host's ``table``, whose content stays what it is; medians of ROUNDS.

    ``changes``: whether rows also go back.
    """
    width = table.shape[1]
    count = min(ROWS, len(table))
    rows = np.sort(np.random.default_rng(0).choice(len(table), count, replace=False)).astype(np.int64)
    kept, sent = _sent(accelerator, rows)
    up = torch.empty((count, width), dtype=torch.float32, device=accelerator.device)
    down = torch.empty_like(up)
    staging = [accelerator.host_bytes(up.nbytes).view(torch.float32).view(-1, width) for _ in range(2)]

    def travel(link: Link) -> float:
        def fetch(block: torch.Tensor, through: torch.Tensor) -> None:
            accelerator.gathering.run(lambda: link.fetch(accelerator.gathering, sent, count, block, through))

        def both_ways() -> None:
            fetch(up, staging[0])
            if changes:
                accelerator.scattering.run(lambda: link.store(accelerator.scattering, sent, count, down, staging[1]))

        fetch(down, staging[1])
        accelerator.gathering.record().wait()  # what goes back is what came
        return _seconds(accelerator, both_ways) / count

    held = HeldTable(accelerator, count, width)
    kept_too, place = _sent(accelerator, np.arange(count, dtype=np.int64))

    def within() -> None:
        accelerator.computing.run(lambda: held.fetch(place, count, up))
        if changes:
            accelerator.computing.run(lambda: held.store(place, count, up))

    rates = Rates(travel(zero_copy), travel(staged), _seconds(accelerator, within) / count,
                 _seconds(accelerator, lambda: _move_block(accelerator, table, up, count, changes)) / count)
    del kept, kept_too  # until here, the host's side of what was sent
    return rates


def _sent(accelerator: Accelerator, array: Rows) -> tuple[Packet, Sent]:
    """An array on the device, sent and arrived, and what holds it."""
    packet = Packet(accelerator, array.nbytes)
    sent = packet.put(array)
    accelerator.computing.run(lambda: packet.send(accelerator.computing.handle))
    accelerator.computing.record().wait()
    return packet, sent


def _move_block(accelerator: Accelerator, table: Table, block: torch.Tensor, count: int, back: bool) -> None:
    size = count * table.shape[1] * 4

    def copy(target: int, source: int) -> None:
        accelerator.library.copy(device=accelerator.index, stream=accelerator.computing.handle, target=target, source=source,
                                 bytes=size)

    accelerator.computing.run(lambda: copy(block.data_ptr(), table.ctypes.data))
    if back:
        accelerator.computing.run(lambda: copy(table.ctypes.data, block.data_ptr()))


def _seconds(accelerator: Accelerator, work: Callable[[], None]) -> float:
    """Median time of ``work`` from an idle device to an idle device, after a warm-up."""
    taken = []
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        work()
        for stream in (accelerator.gathering, accelerator.computing, accelerator.scattering):
            stream.record().wait()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[1:])
