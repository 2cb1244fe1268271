"""Rows from and to pinned host memory by GPU kernels, against what the link can do and against what a user does without.

    python scripts/bench/gpu_gather.py [--buffer 8GiB] [--transfer 1GiB] [--sms 8] [--sweep] [--rounds 5] [--json]

Random unique ascending rows of a pinned buffer on huge pages are gathered into device memory and scattered back by
`copy_rows` on at most --sms multiprocessors. They are measured against the best contiguous kernel read and write of the same
buffer in the same run: by `copy_rows` (rows of 4 KiB, no indices, several caps and all multiprocessors) and, for reads, by
torch's own elementwise kernel (`bitwise_not` of the mapped buffer), whichever is faster; against the copy engine; and, a batch
of --batch rows at a time, against `x[idx].to("cuda")` (its allocator tuned to keep pages) and against a native gather by the CPU
and one copy.

--sweep gathers rows of many widths, also such as no vector of 16 bytes divides, and from a table that begins 4 bytes off. Beside
each figure stands what passes over the link for such a row: whole sectors of 32 bytes, in replies of at most 128 (an estimate).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle

import numpy as np
import on_device
import torch
from link_ceiling import described, torch_reads
from on_device import Buffer, Clock, Ids, Report

from marius_lite.device.accelerator import Accelerator
from marius_lite.device.links import Staged
from marius_lite.device.streams import Stream
from marius_lite.nn.allocator import keep_large_blocks

WIDTHS = (256, 400, 512, 1024, 2048)
SWEPT_WIDTHS, SWEPT_SMS, SWEPT_WIDTH = (64, 128, 256, 400, 512, 1024, 2048, 4096), (1, 2, 4, 8, 16, 32, 64, 132), 512
UNALIGNED_WIDTHS, OFF = (68, 404, 1004), 4
CONTIGUOUS = 4096
GATHER_GOALS = {256: 0.85, 512: 0.95, 1024: 0.95, 2048: 0.95}
SCATTER_GOAL = 0.85
PLAIN_TORCH_GOAL = 3.0
SAME_RATE_GOAL = 0.95


@dataclass
class Bench:
    accelerator: Accelerator
    a: argparse.Namespace
    clock: Clock
    buffer: Buffer
    report: Report
    rates: dict[int, float] = field(default_factory=dict)  # GB/s gathered, by bytes of a row

    def run(self) -> None:
        read, write = self.contiguous("read"), self.contiguous("write")
        read = max(read, self.independent())
        engine = self.copy_engine()
        if self.a.sweep:
            self.sweep(read)
            return
        for width in WIDTHS:
            self.rows(width, read, write)
            self.report.add(f"gather {width} B / copy engine", self.rates[width] / engine)
            self.against_others(width)
        self.report.add(
            "gather: bytes/s of 400 B rows / of 512 B rows", self.rates[400] / self.rates[512], at_least=SAME_RATE_GOAL
        )

    def contiguous(self, direction: str) -> float:
        """GB/s of the best kernel copy of neighbouring rows, over caps of multiprocessors; each goes on where one ended."""
        rows = min(self.a.transfer, len(self.buffer.bytes)) // CONTIGUOUS
        size = rows * CONTIGUOUS
        block = on_device.block(self.accelerator, rows, CONTIGUOUS)
        starts = cycle(range(0, len(self.buffer.bytes) - size + 1, size))

        def copy(sms: int, direction: str) -> None:
            ends = self.buffer.pinned.address + next(starts), block.data_ptr()
            source, target = ends if direction == "read" else ends[::-1]
            self.launch(self.accelerator.gathering, rows, CONTIGUOUS, sms, source=source, target=target)

        self.now(lambda: copy(0, "read"))  # what is written is random too
        found = {
            sms: size / self.clock.time(partial(copy, sms, direction)).seconds / 1e9
            for sms in (self.a.sms, 2 * self.a.sms, 4 * self.a.sms, 0)
        }
        told = ", ".join(f"{sms or 'all'} SMs {rate:.1f}" for sms, rate in found.items())
        self.report.add(f"contiguous kernel {direction}, best", max(found.values()), "GB/s", detail=told)
        return max(found.values())

    def independent(self) -> float:
        """GB/s of the best contiguous read by a kernel of torch's own."""
        found = torch_reads(self.accelerator, self.buffer, self.clock, self.a.transfer)
        told = ", ".join(f"{name} {rate:.1f}" for name, rate in found.items())
        self.report.add("contiguous read by torch's own kernel, best", max(found.values()), "GB/s", detail=told)
        return max(found.values())

    def copy_engine(self) -> float:
        """GB/s of the copy engine to the device."""
        rates = {}
        size = min(self.a.transfer, len(self.buffer.bytes))
        there = torch.empty(size, dtype=torch.uint8, device=self.accelerator.device)
        host = self.buffer.bytes.ctypes.data
        for name, source, target in (("in", host, there.data_ptr()), ("back", there.data_ptr(), host)):

            def copy(source: int = source, target: int = target) -> None:
                stream = self.accelerator.gathering
                stream.run(
                    lambda: self.accelerator.library.copy(
                        device=self.accelerator.index, stream=stream.handle, target=target, source=source, bytes=size
                    )
                )

            rates[name] = size / self.clock.time(copy).seconds / 1e9
            self.report.add(f"copy engine, {name}", rates[name], "GB/s")
        return rates["in"]

    def rows(self, width: int, best_read: float, best_write: float) -> None:
        table = self.buffer.table(width)
        count = min(self.a.transfer // width, len(table) // 2)
        ids, others = (Ids(self.accelerator, on_device.random_rows(len(table), count, seed)) for seed in (1, 2))
        up, down = (on_device.block(self.accelerator, count, width) for _ in range(2))
        gather, scatter = self.gather(width, ids, up), self.scatter(width, others, down)
        down.view(torch.int32).random_()
        on_device.idle(self.accelerator)
        gigabytes = count * width / 1e9

        gathered, scattered, both = self.clock.alternately(gather, scatter, lambda: (gather(), scatter()))
        on_device.check_same(table, others.rows, down)
        self.now(gather)
        on_device.check_same(table, ids.rows, up)
        self.rates[width] = rate = gigabytes / gathered.seconds
        used = self.multiprocessors(width, ids, up)
        self.report.add(
            f"gather {width} B / best contiguous read",
            rate / best_read,
            at_least=GATHER_GOALS.get(width),
            detail=f"{rate:.1f} GB/s on {used} SMs, {count:,} rows",
        )
        self.report.add(f"gather {width} B: multiprocessors used", used, at_most=self.a.sms)
        back = gigabytes / scattered.seconds
        self.report.add(
            f"scatter {width} B / best contiguous write", back / best_write, at_least=SCATTER_GOAL, detail=f"{back:.1f} GB/s"
        )
        self.report.add(
            f"gather and scatter {width} B at once / longer of the two alone",
            both.seconds / max(gathered.seconds, scattered.seconds),
            detail=f"{2 * gigabytes / both.seconds:.1f} GB/s both ways together",
        )

    def sweep(self, best_read: float) -> None:
        """Gathers of other widths and from elsewhere; and of one width on fewer or more multiprocessors."""
        for width in (*SWEPT_WIDTHS, *UNALIGNED_WIDTHS):
            self.orders(width, 0, best_read)
        self.orders(SWEPT_WIDTH, OFF, best_read)
        ids, up = self.drawn(SWEPT_WIDTH, 0)
        for sms in SWEPT_SMS:
            seconds = self.clock.time(self.gather(SWEPT_WIDTH, ids, up, sms)).seconds
            rate = len(ids) * SWEPT_WIDTH / seconds / 1e9
            self.report.add(f"gather {SWEPT_WIDTH} B on {sms} multiprocessors", rate, "GB/s")

    def drawn(self, width: int, offset: int) -> tuple[Ids, torch.Tensor]:
        """Random ascending rows of the table that begins at ``offset``, and room for them."""
        rows = len(self.buffer.table(width, offset))
        count = min(self.a.transfer // width, rows // 2)
        return Ids(self.accelerator, on_device.random_rows(rows, count, 4)), on_device.block(self.accelerator, count, width)

    def orders(self, width: int, offset: int, best_read: float) -> None:
        """Gathers of rows in ascending and in random order, and a read of as many rows without ids."""
        (ascending, up), table = self.drawn(width, offset), self.buffer.table(width, offset)
        shuffled = Ids(self.accelerator, np.random.default_rng(5).permutation(ascending.rows))
        random_order = self.gather(width, shuffled, up, offset=offset)
        *times, spaced = self.clock.alternately(
            self.gather(width, ascending, up, offset=offset), random_order, self.spaced(width, len(table) // len(up), up, offset)
        )
        self.now(random_order)
        on_device.check_same(table, shuffled.rows, up)
        name, gigabytes = f"gather {width} B" + (f" from {offset} B off" if offset else ""), len(up) * width / 1e9
        for order, taken in zip(("ascending", "in random order"), times):
            share = gigabytes / taken.seconds / best_read
            told = f"{gigabytes / taken.seconds:.1f} GB/s; {described(width, offset, share)}"
            self.report.add(f"{name} {order} / best contiguous read", share, detail=told)
        self.report.add(
            f"{name} ascending / read of as many rows at equal distances, without ids",
            spaced.seconds / times[0].seconds,
            detail=f"{gigabytes / spaced.seconds:.1f} GB/s",
        )

    def against_others(self, width: int) -> None:
        """A batch by zero-copy, its ids sent first, by plain torch, and by the native CPU gather and a copy."""
        table = self.buffer.table(width)
        count = min(self.a.batch, len(table) // 2)
        ids = Ids(self.accelerator, on_device.random_rows(len(table), count, 3))
        up, room = on_device.block(self.accelerator, count, width), on_device.staging(self.accelerator, count, width)
        x, idx = torch.from_numpy(table), torch.from_numpy(ids.rows)
        gather, link = self.gather(width, ids, up), Staged(self.accelerator, table, self.a.threads)
        stream = self.accelerator.gathering
        ours, theirs, by_cpu = self.clock.alternately(
            lambda: (ids.send(stream), gather()),
            lambda: x[idx].to(self.accelerator.device),
            lambda: stream.run(lambda: link.fetch(stream, ids.sent, count, up, room)),
        )
        on_device.check_same(table, ids.rows, up)
        gigabytes = count * width / 1e9
        self.report.add(
            f"{width} B: x[idx].to(device) / zero-copy",
            theirs.seconds / ours.seconds,
            "x",
            at_least=PLAIN_TORCH_GOAL,
            detail=f"{1e3 * theirs.seconds:.2f} ms, {1e3 * ours.seconds:.2f} ms for {count:,} rows",
        )
        self.report.add(
            f"{width} B: CPU gather and copy / zero-copy",
            by_cpu.seconds / ours.seconds,
            "x",
            detail=f"{1e3 * by_cpu.seconds:.2f} ms",
        )
        self.report.add(
            f"{width} B: CPU seconds saved by zero-copy",
            (by_cpu.cpu - ours.cpu) / gigabytes,
            "s/GB",
            detail=f"{by_cpu.cpu / gigabytes:.3f} less {ours.cpu / gigabytes:.3f}",
        )

    def gather(
        self, width: int, ids: Ids, block: torch.Tensor, sms: int = 0, *, offset: int = 0, **more: int
    ) -> Callable[[], None]:
        """Put on its stream at each call: rows of the buffer, from ``offset`` on, into the block."""
        return lambda: self.launch(
            self.accelerator.gathering,
            len(ids),
            width,
            sms or self.a.sms,
            source=self.buffer.pinned.address + offset,
            source_rows=ids.sent.device,
            target=block.data_ptr(),
            **more,
        )

    def spaced(self, width: int, distance: int, block: torch.Tensor, offset: int) -> Callable[[], None]:
        """Put on its stream at each call: every `distance`-th row, by no ids. What the link gives for pieces of this size."""
        return lambda: self.launch(
            self.accelerator.gathering,
            len(block),
            width,
            self.a.sms,
            source_stride=distance * width,
            source=self.buffer.pinned.address + offset,
            target=block.data_ptr(),
        )

    def scatter(self, width: int, ids: Ids, block: torch.Tensor) -> Callable[[], None]:
        """Put on its stream at each call: the block into rows of the buffer."""
        return lambda: self.launch(
            self.accelerator.scattering,
            len(ids),
            width,
            self.a.sms,
            source=block.data_ptr(),
            target=self.buffer.pinned.address,
            target_rows=ids.sent.device,
        )

    def now(self, work: Callable[[], None]) -> None:
        work()
        on_device.idle(self.accelerator)

    def multiprocessors(self, width: int, ids: Ids, block: torch.Tensor) -> int:
        """On how many a gather really ran."""
        flags = torch.zeros(on_device.MOST_SMS, dtype=torch.int32, device=self.accelerator.device)
        on_device.idle(self.accelerator)
        self.now(self.gather(width, ids, block, sm_flags=flags.data_ptr()))
        return int(flags.sum())

    def launch(self, stream: Stream, count: int, width: int, sms: int, *, source_stride: int = 0, **ends: int) -> None:
        stream.run(
            lambda: self.accelerator.library.copy_rows(
                device=self.accelerator.index,
                stream=stream.handle,
                count=count,
                columns=width // 4,
                source_stride=source_stride or width,
                target_stride=width,
                max_sms=sms,
                **ends,
            )
        )


def main(arguments: list[str] | None = None) -> None:
    parser = on_device.parser(__doc__)
    parser.add_argument("--buffer", type=on_device.size, default=8 << 30, help="host bytes; at least twice as much must be free")
    parser.add_argument("--transfer", type=on_device.size, default=1 << 30, help="bytes of one gather")
    parser.add_argument("--batch", type=int, default=100_000, help="rows of a batch, against plain torch and the CPU gather")
    parser.add_argument("--sms", type=int, default=8)
    parser.add_argument("--sweep", action="store_true", help="other widths and orders, fewer and more multiprocessors, instead")
    parser.add_argument("--threads", type=int, default=0, help="of the CPU gather; 0: all")
    a = parser.parse_args(arguments)
    keep_large_blocks()
    accelerator = on_device.accelerator()
    a.buffer = on_device.require_memory(a.buffer)
    clock = Clock(accelerator, a.rounds, a.at_least)
    report = Report("gpu_gather", on_device.settings(accelerator, a), a.json)
    Bench(accelerator, a, clock, Buffer(accelerator, a.buffer), report).run()


if __name__ == "__main__":
    main()
