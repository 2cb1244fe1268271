"""What the gather of the next batch costs the training step that runs at the same time.

    python scripts/bench/gpu_overlap.py [--batch 50000] [--dim 100] [--sms 8] [--rounds 5] [--json]

ComplEx, loss and gradients of a batch on the computing stream, alone, and with a gather of the rows of a batch from pinned host
memory that begins whenever a step begins. Only the computing stream is waited for: what is measured is how much later it ends.
Where launching a step takes as long as the step itself, the GPU has pauses, and the figure says less than it seems.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable

import numpy as np
import on_device
import torch
from on_device import Buffer, Clock, Ids, Report

from marius_lite.device.accelerator import Accelerator
from marius_lite.device.links import ZeroCopy
from marius_lite.nn.model import LinkPredictionModel
from marius_lite.storage.record import record_of
from marius_lite.types import DeviceBatch, EdgeBatch, SampledBatch

GOAL = 0.05
RELATIONS = 100


def random_batch(a: argparse.Namespace, device: torch.device) -> DeviceBatch:
    rng, values = np.random.default_rng(0), torch.Generator().manual_seed(0)
    rel = rng.integers(RELATIONS, size=a.batch)
    ends, negatives = np.zeros(a.batch, np.int64), np.zeros((2, a.chunks, a.negatives), np.int64)

    def rows(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, a.dim, generator=values).to(device)

    return DeviceBatch(
        SampledBatch(EdgeBatch(0, 0, 0, ends, ends, rel), negatives, 0),
        rows(2 * a.batch),
        rows(2, a.chunks, a.negatives),
        torch.from_numpy(rel).to(device),
    )


def compute_ms(accelerator: Accelerator, work: Callable[[], None], repeats: int) -> tuple[float, float]:
    """Milliseconds of one of ``repeats`` pieces of work: (until the computing stream is done, until all was launched).

    Other streams end outside the time.
    """
    start = time.perf_counter()
    for _ in range(repeats):
        work()
    launched = time.perf_counter()
    accelerator.computing.record().wait()
    ended = time.perf_counter()
    on_device.idle(accelerator)
    return 1e3 * (ended - start) / repeats, 1e3 * (launched - start) / repeats


def measure(accelerator: Accelerator, a: argparse.Namespace, report: Report) -> None:
    model = LinkPredictionModel("complex", RELATIONS, a.dim, np.random.default_rng(0), reciprocal=True).to(accelerator.device)
    batch = random_batch(a, accelerator.device)
    stride = record_of("row_adagrad", a.dim).stride
    buffer = Buffer(accelerator, a.buffer)
    buffer.pinned.close()
    table = buffer.table(stride)
    link = ZeroCopy(accelerator, table, len(table), a.sms, 0)
    places = 2 * a.batch + 2 * a.chunks * a.negatives
    ids = Ids(accelerator, on_device.random_rows(len(table), places))
    block = on_device.block(accelerator, len(ids), stride)
    gathering, computing = accelerator.gathering, accelerator.computing

    def gather() -> None:
        gathering.run(lambda: link.fetch(gathering, ids.sent, len(ids), block, None))

    def alone() -> None:
        computing.run(lambda: model.gradients(batch))

    def together() -> None:
        gathering.after(computing.record())
        gather()
        alone()

    for work in (alone, together):  # the warm-up
        compute_ms(accelerator, work, 3)
    repeats = max(1, math.ceil(1e3 * a.at_least / compute_ms(accelerator, alone, 3)[0]))
    rounds = [(compute_ms(accelerator, alone, repeats), compute_ms(accelerator, together, repeats)) for _ in range(a.rounds)]
    on_device.check_same(table, ids.rows, block)
    gather_ms = 1e3 * Clock(accelerator, a.rounds, a.at_least).time(gather).seconds
    step, launched, slowed, launched_both = (statistics.median(column) for column in zip(*(one + both for one, both in rounds)))
    report.add("training step alone", step, "ms", detail=f"launched in {launched:.3f} ms")
    report.add("gather of a batch's rows alone", gather_ms, "ms", detail=f"{len(ids):,} rows of {stride} B")
    report.add(
        "slowdown of a step by the next one's gather",
        slowed / step - 1,
        at_most=GOAL,
        detail=f"{slowed:.3f} ms, launched in {launched_both:.3f} ms",
    )


def main(arguments: list[str] | None = None) -> None:
    parser = on_device.parser(__doc__)
    for name, default in (("batch", 50_000), ("dim", 100), ("chunks", 10), ("negatives", 1000), ("sms", 8)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--buffer", type=on_device.size, default=4 << 30, help="host bytes; at least twice as much must be free")
    parser.set_defaults(at_least=0.2)
    a = parser.parse_args(arguments)
    accelerator = on_device.accelerator()
    a.buffer = on_device.require_memory(a.buffer)
    report = Report("gpu_overlap", on_device.settings(accelerator, a), a.json)
    measure(accelerator, a, report)


if __name__ == "__main__":
    main()
