"""The ways of rows to the device, over widths and touched shares, and whether the chooser's pick is the fastest.

    python scripts/bench/gpu_paths.py [--table 2GiB] [--batch-bytes 64MiB] [--rounds 5] [--json]

A step's rows, with nothing else to do: zero_copy and staged fetch and store batch after batch, a fetch overlapping the stores
before it; bulk copies all partitions in, fetches and stores the batches within the device, and copies the partitions back. The
touched share counts repeats: 4 means that the batches together touch four times as many rows as are resident.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field

import numpy as np
import on_device
import torch
from on_device import Buffer, Clock, Ids, Report

from marius_lite.device.accelerator import Accelerator
from marius_lite.device.cache import FullCache
from marius_lite.device.calibrate import measure
from marius_lite.device.chooser import Load, Rates, choose
from marius_lite.device.links import Link, Staged, Table, ZeroCopy
from marius_lite.device.streams import Event

WIDTHS = (64, 100, 256, 512)
TOUCHED = (0.05, 0.2, 0.5, 1, 4)
SLOTS, SLOT_ROWS = 8, 256
"""Slots are whole pages at any stride where their rows are a multiple of this."""
UNDER_WAY = 4
"""Batches between their fetch and the end of their store, as in training."""
BATCHES = 8
"""Different batches; a step with more of them uses them again."""
GOAL = 1.1


@dataclass
class Slot:
    block: torch.Tensor
    staging: torch.Tensor
    landed: Event | None = None


@dataclass
class Step:
    """A step over ``table`` whose batches are those of ``batches``, by any path."""

    accelerator: Accelerator
    table: Table
    batches: list[Ids]
    ring: list[Slot] = field(default_factory=list)

    def __post_init__(self) -> None:
        sizes = self.accelerator, max(map(len, self.batches)), self.table.shape[1] * 4
        self.ring = [Slot(on_device.block(*sizes), on_device.staging(*sizes)) for _ in range(UNDER_WAY)]
        self.cache = FullCache(self.accelerator, self.table, len(self.table) // SLOTS)

    def through(self, link: Link, count: int) -> None:
        """``count`` batches up and back, each back when it is up."""
        gathering, scattering = self.accelerator.gathering, self.accelerator.scattering
        for k in range(count):
            ids, slot = self.batches[k % len(self.batches)], self.ring[k % UNDER_WAY]
            gathering.after(slot.landed)
            gathering.run(lambda ids=ids, slot=slot: link.fetch(gathering, ids.sent, len(ids), slot.block, slot.staging))
            scattering.after(gathering.record())
            scattering.run(lambda ids=ids, slot=slot: link.store(scattering, ids.sent, len(ids), slot.block, slot.staging))
            slot.landed = scattering.record()

    def bulk(self, count: int) -> None:
        """All partitions in, ``count`` batches within the device, all partitions back."""
        computing, block = self.accelerator.computing, self.ring[0].block
        self.cache.enter({k: k * (len(self.table) // SLOTS) for k in range(SLOTS)})
        for k in range(count):
            ids = self.batches[k % len(self.batches)]
            computing.run(lambda ids=ids: self.cache.fetch(ids.sent, len(ids), block))
            computing.run(lambda ids=ids: self.cache.store(ids.sent, len(ids), block))
        self.cache.leave(())


def compare(accelerator: Accelerator, a: argparse.Namespace, buffer: Buffer, clock: Clock, report: Report, width: int) -> None:
    """All shares of one width."""
    table = buffer.table(4 * width)
    slot_rows = len(table) // SLOTS // SLOT_ROWS * SLOT_ROWS
    table = table[: SLOTS * slot_rows]
    staged, zero_copy = Staged(accelerator, table, a.threads), ZeroCopy(accelerator, table, slot_rows, a.sms, a.threads)
    smallest = max(1, int(min(TOUCHED) * len(table)))
    size = max(1, min(a.batch_bytes // (4 * width), smallest))
    rates = measure(accelerator, table, zero_copy, staged, size)
    report.add(
        f"{width} floats: a row by zero_copy",
        1e9 * rates.zero_copy,
        "ns",
        detail=f"staged {1e9 * rates.staged:.3g}, cached {1e9 * rates.cached:.3g}, of a partition {1e9 * rates.partition:.3g}",
    )
    free = free_bytes(accelerator)
    batches = [Ids(accelerator, on_device.random_rows(len(table), size, seed)) for seed in range(BATCHES)]
    before = table[:: max(1, len(table) // on_device.SAMPLE)].copy()
    step = Step(accelerator, table, batches)
    for share in TOUCHED:
        tell(report, clock, step, zero_copy, staged, rates, share, free)
    if not np.array_equal(before.view(np.uint8), table[:: max(1, len(table) // on_device.SAMPLE)].copy().view(np.uint8)):
        raise SystemExit("rows that nobody changed came back different: no time of this run means anything")
    zero_copy.close()


def tell(report: Report, clock: Clock, step: Step, zero_copy: Link, staged: Link, rates: Rates, share: float, free: int) -> None:
    rows = len(step.table)
    count = max(1, round(share * rows / len(step.batches[0])))
    names = ("zero_copy", "staged", "bulk")
    works = (lambda: step.through(zero_copy, count), lambda: step.through(staged, count), lambda: step.bulk(count))
    seconds = dict(zip(names, (taken.seconds for taken in clock.alternately(*works))))
    picked = choose(rates, [Load(count * len(step.batches[0]), rows, count)], step.table.nbytes, free).path
    best = min(seconds, key=lambda name: seconds[name])
    told = ", ".join(f"{name} {1e3 * value:.2f} ms" for name, value in seconds.items())
    report.add(
        f"{step.table.shape[1]} floats, {share:g} touched: the choice / best",
        seconds[picked] / seconds[best],
        "x",
        at_most=GOAL,
        detail=f"{told}; chose {picked}, best {best}",
    )


def free_bytes(accelerator: Accelerator) -> int:
    """Device memory for a cache of the whole buffer."""
    return torch.cuda.mem_get_info(accelerator.device)[0] if accelerator.device.type == "cuda" else 1 << 62


def main(arguments: list[str] | None = None) -> None:
    parser = on_device.parser(__doc__)
    parser.add_argument("--table", type=on_device.size, default=2 << 30, help="host bytes; at least twice as much must be free")
    parser.add_argument("--batch-bytes", type=on_device.size, default=64 << 20)
    parser.add_argument("--sms", type=int, default=8)
    parser.add_argument("--threads", type=int, default=0, help="of the CPU gather; 0: all")
    a = parser.parse_args(arguments)
    accelerator = on_device.accelerator()
    if 3 * on_device.require_memory(a.table) > free_bytes(accelerator):
        raise SystemExit(f"--table {a.table:,}: a third of the device's {free_bytes(accelerator):,} free bytes is the most")
    clock = Clock(accelerator, a.rounds, a.at_least)
    report = Report("gpu_paths", on_device.settings(accelerator, a), a.json)
    buffer = Buffer(accelerator, a.table)
    buffer.pinned.close()
    for width in WIDTHS:
        compare(accelerator, a, buffer, clock, report, width)


if __name__ == "__main__":
    main()
