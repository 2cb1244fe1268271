"""Where a batch's time goes on a GPU: launches, the share of the time in which the GPU computes, its kernels and copies.

    python scripts/bench/gpu_profile.py [--data FOLDER] [--case NAME]... [--batches 200] [--set KEY=VALUE]... [--work DIR]
        [--json]

Link prediction (ComplEx, 100 numbers, 1,000 shared negatives, row-wise Adagrad) with 1,000, 10,000 and 50,000 edges a batch over
FB15k-237 (--data: its train.txt, valid.txt, test.txt; a power-law graph otherwise), and GraphSAGE as gpu_gnn.py trains it. Each
case is trained twice: by itself for its rate, and under torch.profiler, whose own work makes the host slower. The last two thirds
of the batches count.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import gpu_gnn
import gpu_link_prediction
import on_device
import torch
import training
from on_device import Report
from torch.profiler import ProfilerActivity, profile

from marius_lite.device import verified

GOALS = {"1,000 edges": 2.5e6, "10,000 edges": 4e6}
LONGEST = 70
"""Characters of a kernel's name that are told."""
TOLD = 14
"""Kernels that are told of a case."""
COUNTED = 2 / 3


@dataclass(frozen=True)
class Case:
    name: str
    dataset: Path
    settings: dict[str, object]
    per_batch: int
    """Edges, or nodes, of a batch."""
    unit: str


@dataclass(frozen=True)
class Span:
    """What the GPU did, nanoseconds."""

    name: str
    start: int
    end: int


def link_cases(a: argparse.Namespace, work: Path) -> list[Case]:
    if a.data:
        files = {split: a.data / f"{split}.txt" for split in ("train", "valid", "test")}
        given = ["--valid", files["valid"], "--test", files["test"]]
        training.marius("preprocess", files["train"], *given, "--output", work / "dataset", "--partitions", 16)
        dataset, edges = work / "dataset", files["train"].read_bytes().count(b"\n")
    else:
        edges = 5_000_000
        dataset = gpu_link_prediction.graph(work, 100_000, edges)[1]
    cases = []
    for size, chunks in ((1000, 1), (10_000, 10), (50_000, 10)):
        settings = {
            "model.decoder": "complex",
            "model.dim": 100,
            "negatives.count": 1000,
            "negatives.chunks": chunks,
            "training.batch_size": size,
            "training.epochs": max(2, round(a.batches / ceil(edges / size))),
            "storage.capacity": 16,
        }
        cases.append(Case(f"{size:,} edges", dataset, settings, size, "edges/s"))
    return cases


def node_case(a: argparse.Namespace, work: Path) -> Case:
    sizes = argparse.Namespace(**{**vars(a), "batch": a.seeds, "partitions": 8, "fanouts": [15, 10, 5]})
    dataset = gpu_gnn.dataset_of(sizes, work)
    return Case("GraphSAGE", dataset, gpu_gnn.settings(sizes, a.path, sampler=a.sampler), a.seeds, "nodes/s")


def measure(case: Case, a: argparse.Namespace, work: Path, report: Report) -> None:
    """Train the case by itself, then under the profiler."""
    common = {"evaluation.every_epochs": 0, "checkpoint.every_epochs": 100_000, "checkpoint.keep": 1, "device": a.device}
    given = dict(item.split("=", 1) for item in a.set)
    settings = {**common, "storage.device_path": a.path, **case.settings, **given}
    rate = batch_rate(training.train(case.dataset, training.fresh(work / "run"), settings))
    report.add(
        f"{case.name}: rate", rate * case.per_batch, case.unit, at_least=GOALS.get(case.name), detail=f"{1e3 / rate:.3f} ms"
    )
    seen = ProfilerActivity.CUDA if torch.cuda.is_available() else ProfilerActivity.CPU
    with profile(activities=[seen]) as profiler:
        slower = batch_rate(training.train(case.dataset, training.fresh(work / "run"), settings))
    tell(case.name, spans_of(profiler), slower, report)


def batch_rate(lines: list[dict[str, Any]]) -> float:
    """Batches per second of the counted ones."""
    times = [line["time"] for line in lines if line["kind"] == "batch"]
    counted = max(1, int(COUNTED * len(times)))
    return counted / max(times[-1] - times[-1 - counted], 1e-6)


def spans_of(profiler: profile) -> list[Span]:
    """Kernels and copies of the counted time, ascending."""
    spans = []
    for event in profiler.profiler.kineto_results.events():  # type: ignore[union-attr]
        if event.device_type() == torch.profiler.DeviceType.CUDA and event.duration_ns() > 0:
            spans.append(Span(event.name(), event.start_ns(), event.start_ns() + event.duration_ns()))
    spans.sort(key=lambda span: span.start)
    if spans:
        first = spans[0].start + (1 - COUNTED) * (spans[-1].end - spans[0].start)
        spans = [span for span in spans if span.start >= first]
    return spans


def tell(case: str, spans: list[Span], batches_per_s: float, report: Report) -> None:
    if not spans:
        report.add(f"{case}: kernels seen by the profiler", 0)
        return
    length = max(span.end for span in spans) - spans[0].start
    batches = batches_per_s * length / 1e9
    busy, until = 0, 0
    taken: Counter[str] = Counter()
    count: Counter[str] = Counter()
    for span in spans:
        busy += max(0, span.end - max(span.start, until))
        until = max(until, span.end)
        taken[span.name] += span.end - span.start
        count[span.name] += 1
    copies = sum(number for name, number in count.items() if name.startswith(("Memcpy", "Memset")))
    report.add(f"{case}: launches of kernels a batch", (len(spans) - copies) / batches)
    report.add(f"{case}: copies by the engine a batch", copies / batches)
    report.add(f"{case}: time in which the GPU works, profiled", busy / length, detail=f"{busy / batches / 1e6:.3f} ms a batch")
    for name, nanoseconds in taken.most_common(TOLD):
        detail = f"{count[name] / batches:.1f} a batch"
        report.add(f"{case}: {name[:LONGEST]}", nanoseconds / batches / 1e3, "us", detail=detail)


def main(arguments: list[str] | None = None) -> None:
    parser = on_device.parser(__doc__)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--work", type=Path, default=None)
    parser.add_argument("--case", action="append", help="what its name begins with")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the run, for all cases")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--path", default="auto", help="storage.device_path")
    parser.add_argument("--sampler", default="auto", help="sampling.device of GraphSAGE")
    for name, default in (("batches", 200), ("nodes", 200_000), ("edges", 4_000_000), ("seeds", 1000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    a = parser.parse_args(arguments)
    accelerator = on_device.accelerator()
    report = Report("gpu_profile", on_device.settings(accelerator, a), a.json)
    verified.GPUS = verified.GPUS or (report.settings["gpu"],)  # `auto` as it is where this code is known to run
    with tempfile.TemporaryDirectory(dir=a.work) as folder:
        work = Path(folder)
        (work / "nodes").mkdir()
        for case in [*link_cases(a, work), node_case(a, work / "nodes")]:
            if not a.case or any(case.name.startswith(name) for name in a.case):
                measure(case, a, work, report)


if __name__ == "__main__":
    main()
