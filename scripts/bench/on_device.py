"""What the GPU benchmarks share: the device, a pinned buffer like the one that training uses, clocks, and the report."""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

os.environ.setdefault("GOMP_SPINCOUNT", "1000")  # as marius_lite sets it, which is imported after torch here

import machine_facts
import numpy as np
import numpy.typing as npt
import torch

import marius_lite.device.accelerator as devices
from marius_lite._native import PartitionBuffer
from marius_lite.config.machine import reachable_memory, total_memory
from marius_lite.device.accelerator import Accelerator
from marius_lite.device.links import Table
from marius_lite.device.packet import Packet, Sent
from marius_lite.device.streams import Stream
from marius_lite.errors import UserError
from marius_lite.sizes import parse_bytes

PAGE = 4096
BOUNDARY = 2 << 20
SAMPLE = 1000
MOST_SMS = 1024
"""Numbers that a multiprocessor may have: they need not be contiguous (PTX, %smid)."""


def accelerator() -> Accelerator:
    """The first GPU. Ends the program with exit code 2, and one line that says why, where there is none."""
    try:
        made = devices.open_accelerator(devices.check_device("cuda"))
    except UserError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    assert made is not None
    return made


class Buffer:
    """Host memory as training has it: the partition buffer's own, on huge pages, filled with random bytes.

    Of ``size`` bytes, whole MiB are had. They are pinned, until ``pinned`` is closed: a link that pins them itself needs that.
    """

    def __init__(self, accelerator: Accelerator, size: int):
        self.bytes = buffer_memory(size)
        self.pinned = accelerator.library.pin(self.bytes, BOUNDARY, accelerator.index)
        pattern = np.random.default_rng(0).integers(256, size=(16 << 20) - 48, dtype=np.uint8)
        for start in range(0, len(self.bytes), len(pattern)):
            part = self.bytes[start : start + len(pattern)]
            part[:] = pattern[: len(part)]

    def table(self, row_bytes: int, offset: int = 0) -> Table:
        """The buffer as float32 (rows, row_bytes / 4), from its first byte on, or from ``offset`` bytes behind it."""
        rows = (len(self.bytes) - offset) // row_bytes
        return self.bytes[offset : offset + rows * row_bytes].view(np.float32).reshape(rows, -1)


def buffer_memory(size: int) -> npt.NDArray[np.uint8]:
    """The memory of a partition buffer of one slot, ``size`` rounded down to MiB; not yet touched."""
    with tempfile.TemporaryDirectory() as folder:
        native = PartitionBuffer(folder, 1, (size >> 20) * 256, PAGE, 1, 1, False)
        memory = native.memory.reshape(-1)
        native.close()
    return memory


def require_memory(size: int) -> int:
    """``size`` bytes, which are at most half of what this process may still take. Ends the benchmark where they are not."""
    found = reachable_memory(2 * size)
    if found < 2 * size:
        raise SystemExit(
            f"{size:,} bytes of host memory are asked for, and {found:,} are available: ask for at most half of that"
        )
    return size


def random_rows(rows: int, count: int, seed: int = 0) -> npt.NDArray[np.int64]:
    """``count`` of the rows, each at most once, ascending."""
    return np.sort(np.random.default_rng(seed).choice(rows, min(count, rows), replace=False, shuffle=False)).astype(np.int64)


class Ids:
    """Rows on both sides, sent and arrived; ``sent`` is valid as long as this lives."""

    def __init__(self, accelerator: Accelerator, rows: npt.NDArray[np.int64]):
        self.rows = rows
        self._packet = Packet(accelerator, rows.nbytes)
        self.sent: Sent
        [self.sent] = self._packet.put([rows])
        self.send(accelerator.computing)
        idle(accelerator)

    def send(self, stream: Stream) -> None:
        """Once more."""
        stream.run(lambda: self._packet.send(stream.handle))

    def __len__(self) -> int:
        return len(self.rows)


def block(accelerator: Accelerator, rows: int, row_bytes: int) -> torch.Tensor:
    return torch.empty((rows, row_bytes // 4), dtype=torch.float32, device=accelerator.device)


def staging(accelerator: Accelerator, rows: int, row_bytes: int) -> torch.Tensor:
    return accelerator.host_bytes(rows * row_bytes).view(torch.float32).view(rows, -1)


def check_same(table: Table, rows: npt.NDArray[np.int64], block: torch.Tensor) -> None:
    """Raise SystemExit unless a sample of the block's rows has the bits of the table's."""
    places = np.unique(np.linspace(0, len(rows) - 1, SAMPLE).astype(np.int64))
    found = block[torch.from_numpy(places).to(block.device)].cpu().numpy()
    if not np.array_equal(found.view(np.uint8), np.ascontiguousarray(table[rows[places]]).view(np.uint8)):
        raise SystemExit("rows of the table and of the device differ after a transfer: no time of this run means anything")


def idle(accelerator: Accelerator) -> None:
    """Return when the device has nothing left to do."""
    for stream in (accelerator.gathering, accelerator.computing, accelerator.scattering):
        stream.record().wait()


@dataclass(frozen=True)
class Taken:
    """Of one call of the work: seconds on the wall, and of all the process's CPUs together."""

    seconds: float
    cpu: float


@dataclass(frozen=True)
class Clock:
    """Times work put on the streams of ``accelerator``, from idle to idle: medians of ``rounds`` after a warm-up.

    A round repeats the work until it takes about ``at_least`` seconds.
    """

    accelerator: Accelerator
    rounds: int
    at_least: float

    def time(self, work: Callable[[], object]) -> Taken:
        return self.alternately(work)[0]

    def alternately(self, *works: Callable[[], object]) -> list[Taken]:
        """The works in turn, round by round: a machine that changes its speed changes all of them."""
        repeats = [self._repeats(work) for work in works]
        taken: list[list[Taken]] = [[] for _ in works]
        for _ in range(self.rounds):
            for work, count, found in zip(works, repeats, taken):
                found.append(self._round(work, count))
        return [Taken(statistics.median(t.seconds for t in found), statistics.median(t.cpu for t in found)) for found in taken]

    def _repeats(self, work: Callable[[], object]) -> int:
        self._round(work, 1)  # the warm-up
        return max(1, math.ceil(self.at_least / self._round(work, 1).seconds))

    def _round(self, work: Callable[[], object], repeats: int) -> Taken:
        cpu, start = time.process_time(), time.perf_counter()
        for _ in range(repeats):
            work()
        idle(self.accelerator)
        return Taken((time.perf_counter() - start) / repeats, (time.process_time() - cpu) / repeats)


@dataclass
class Figure:
    figure: str
    value: float
    unit: str
    goal: float | None = None
    better: str = "more"
    detail: str = ""

    @property
    def passed(self) -> bool | None:
        if self.goal is None:
            return None
        return self.value >= self.goal if self.better == "more" else self.value <= self.goal

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return ""
        return f"{'>=' if self.better == 'more' else '<='} {self.goal:g}: {'pass' if self.passed else 'MISS'}"


@dataclass(frozen=True)
class Report:
    """The figures of one benchmark, and all that they depend on.

    It prints the settings when it is made, and every figure as soon as it is added: what was found before a program is killed
    is known. A figure that is added again replaces the earlier one.
    """

    benchmark: str
    settings: dict[str, Any]
    as_json: bool

    def __post_init__(self) -> None:
        if self.as_json:
            print(json.dumps({"benchmark": self.benchmark, "settings": self.settings}), flush=True)
        else:
            print("; ".join(f"{name} {value}" for name, value in self.settings.items()), flush=True)

    def add(
        self,
        figure: str,
        value: float,
        unit: str = "",
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        detail: str = "",
    ) -> None:
        goal, better = (at_most, "less") if at_most is not None else (at_least, "more")
        f = Figure(figure, float(value), unit, goal, better, detail)
        if self.as_json:
            print(json.dumps({**asdict(f), "pass": f.passed}), flush=True)
        else:
            print(f"{f.figure:<64} {f.value:>12,.4g} {f.unit:<8} {f.verdict:<16} {f.detail}".rstrip(), flush=True)


def so_far(done: int, rounds: int) -> str:
    """What is added to the detail of a figure that is told before all rounds are done."""
    return f"; {done} of {rounds} rounds" if done < rounds else ""


def parser(doc: str | None) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--json", action="store_true", help="print a line of JSON for the settings and for each figure")
    made.add_argument("--rounds", type=int, default=5)
    made.add_argument("--at-least", type=float, default=0.02, help="seconds that a round takes at least")
    return made


def size(text: str) -> int:
    """An option's bytes: 8GiB, 500MB."""
    try:
        return parse_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def settings(accelerator: Accelerator, a: argparse.Namespace) -> dict[str, Any]:
    """The machine, and the arguments. Asks for the link while something crosses it: at rest it is slower."""
    facts = accelerator.library.device_facts(accelerator.index)
    given = {name: value if isinstance(value, int | float) else str(value) for name, value in vars(a).items() if name != "json"}
    return {
        "gpu": facts["name"],
        "link": _busy_link(accelerator, facts["pci_bus_id"]),
        "cuda_of_driver": ".".join(map(str, facts["driver_version"])),
        "torch": str(torch.__version__),
        "cpus": len(os.sched_getaffinity(0)),
        "memory": total_memory(),
        "gpu_memory": facts["memory"],
        "huge_pages": machine_facts.huge_pages(),
        **given,
    }


def _busy_link(accelerator: Accelerator, pci_bus_id: str) -> str:
    host = accelerator.host_bytes(1 << 26)
    there = torch.empty(1 << 26, dtype=torch.uint8, device=accelerator.device)

    def copy() -> None:
        accelerator.library.copy(
            device=accelerator.index,
            stream=accelerator.gathering.handle,
            target=there.data_ptr(),
            source=host.data_ptr(),
            bytes=1 << 26,
        )

    for _ in range(64 if accelerator.pinned else 1):
        accelerator.gathering.run(copy)
    told = machine_facts.link(pci_bus_id)
    idle(accelerator)
    return told
