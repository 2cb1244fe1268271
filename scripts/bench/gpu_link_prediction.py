"""Link prediction on a GPU: edges per second against plain torch, and an epoch with rows on disk against its bounds.

    python scripts/bench/gpu_link_prediction.py [--part speed] [--part disk] [--rounds 5] [--work DIR] [--json]

speed: ComplEx, dim 100, batch 50,000, 1,000 shared negatives in 10 chunks a side, row-wise Adagrad, everything in host memory;
ours by every path, and a plain torch loop whose table lies in pinned memory (plain_torch_gpu.py, a process of its own), in turn.
disk: an epoch of a generated power-law graph, 4 of 16 partitions resident (BETA), against the longer of the same epoch with all
of them resident, and of its bytes at the rate of the disk below --work: one file read while another is written, past the page
cache. The first epoch is the warm-up; the median of those after it counts.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import on_device
import training
from commands import make_graph, options
from on_device import Report

from marius_lite import _native
from marius_lite.device import verified

PATHS = ("zero_copy", "staged", "bulk", "auto")
WARM_UP = 10
SPEED_GOAL, DISK_GOAL = 3.0, 1.1
PARTITIONS, RESIDENT = 16, 4
IO_THREADS = 4


def graph(work: Path, nodes: int, edges: int) -> tuple[str, Path]:
    """A power-law graph: the pattern of its files, and the dataset."""
    folder = work / f"{edges}"
    make_graph("power_law.py", folder, nodes=nodes, edges=edges)
    training.marius("preprocess", folder / "edges-*.npy", "--output", folder / "dataset", "--partitions", PARTITIONS)
    return f"{folder}/edges-*.npy", folder / "dataset"


def settings(a: argparse.Namespace, **more: object) -> dict[str, object]:
    return {
        "model.decoder": "complex",
        "model.dim": a.dim,
        "training.batch_size": a.batch,
        "negatives.count": a.negatives,
        "negatives.chunks": a.chunks,
        "evaluation.every_epochs": 0,
        "checkpoint.every_epochs": 1000,
        "checkpoint.keep": 1,
        "device": a.device,
        **{name.replace("__", "."): value for name, value in more.items()},
    }


def peer_rate(a: argparse.Namespace, edges: Path) -> float:
    command = [
        sys.executable,
        str(Path(__file__).with_name("plain_torch_gpu.py")),
        str(edges),
        *options(nodes=a.nodes, dim=a.dim, batch=a.batch, negs=a.negatives, chunks=a.chunks, batches=a.batches, device=a.device),
    ]
    printed = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
    return float(re.findall(r"([\d.]+) edges/s", printed)[-1])


def speed(a: argparse.Namespace, work: Path, report: Report) -> None:
    pattern, dataset = graph(work, a.nodes, (WARM_UP + a.batches) * a.batch)
    edges = work / "edges.npy"
    np.save(edges, np.concatenate([np.load(path) for path in sorted(Path(pattern).parent.glob("*.npy"))]))
    rates: dict[str, list[float]] = {name: [] for name in ("plain torch", *PATHS)}
    for done in range(1, a.rounds + 1):
        rates["plain torch"].append(peer_rate(a, edges))
        for path in PATHS:
            lines = training.train(
                dataset,
                training.fresh(work / "run"),
                settings(a, training__epochs=1, storage__capacity=PARTITIONS, storage__device_path=path),
            )
            rates[path].append(training.edge_rate(lines, WARM_UP))
        tell(report, rates, on_device.so_far(done, a.rounds))


def tell(report: Report, rates: dict[str, list[float]], so_far: str) -> None:
    """The medians of the rounds until now."""
    medians = {name: statistics.median(values) for name, values in rates.items()}
    spread = {name: f"{min(values):,.0f} to {max(values):,.0f}{so_far}" for name, values in rates.items()}
    report.add("plain torch, table in pinned memory", medians["plain torch"], "edges/s", detail=spread["plain torch"])
    for path in PATHS:
        report.add(f"in memory, {path}", medians[path], "edges/s", detail=spread[path])
        report.add(
            f"in memory, {path} / plain torch",
            medians[path] / medians["plain torch"],
            "x",
            at_least=SPEED_GOAL if path == "auto" else None,
            detail=so_far.removeprefix("; "),
        )


def disk(a: argparse.Namespace, work: Path, report: Report) -> None:
    _, dataset = graph(work, a.disk_nodes, a.disk_edges)

    def epoch(capacity: int, ordering: str) -> tuple[float, float]:
        """Median (seconds, bytes read and written) of the epochs after the first."""
        lines = training.train(
            dataset,
            training.fresh(work / "run"),
            settings(a, training__epochs=1 + a.epochs, storage__capacity=capacity, storage__ordering=ordering),
        )
        spans = [line["machine"] for line in lines if line["kind"] == "epoch"][1:]
        return (
            statistics.median(span["seconds"] for span in spans),
            statistics.median(span["bytes_read"] + span["bytes_written"] for span in spans),
        )

    resident, _ = epoch(PARTITIONS, "in_memory")
    report.add("epoch, everything resident", resident, "s", detail=f"{a.disk_edges / resident:,.0f} edges/s")
    seconds, moved = epoch(RESIDENT, "beta")
    report.add(
        f"epoch, {RESIDENT} of {PARTITIONS} partitions resident", seconds, "s", detail=f"{a.disk_edges / seconds:,.0f} edges/s"
    )
    rate = disk_rate(work, a.disk_file, a.rounds)
    bound = max(resident, moved / rate)
    report.add("disk, one file read while another is written", rate / 1e9, "GB/s")
    report.add("bytes of an epoch with rows on disk / disk rate", moved / rate, "s", detail=f"{moved / 1e9:.2f} GB")
    report.add("epoch with rows on disk / longer of the two bounds", seconds / bound, "x", at_most=DISK_GOAL)


def disk_rate(work: Path, size: int, rounds: int) -> float:
    """Bytes per second of a read and a write at the same time, both of ``size`` bytes; the median after a warm-up."""
    direct = bool(_native.probe(str(work))["direct_io"])
    out, there = (np.ones(on_device.PAGE + size // on_device.PAGE * on_device.PAGE, np.uint8) for _ in range(2))
    source, result = (_aligned(array) for array in (out, there))
    _native.write_file(str(work / "read.bin"), source, direct, IO_THREADS)

    def once() -> float:
        start = time.perf_counter()
        works: tuple[Callable[[], object], ...] = (
            lambda: _native.write_file(str(work / "written.bin"), source, direct, IO_THREADS),
            lambda: _native.read_file_range(str(work / "read.bin"), 0, result, direct, IO_THREADS),
        )
        threads = [threading.Thread(target=each) for each in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return 2 * len(source) / (time.perf_counter() - start)

    once()
    return statistics.median(once() for _ in range(rounds))


def _aligned(array: np.ndarray) -> np.ndarray:
    """The pages of the array, as reads past the page cache want them."""
    start = -array.ctypes.data % on_device.PAGE
    return array[start : start + len(array) - on_device.PAGE]


def main(arguments: list[str] | None = None) -> None:
    parser = on_device.parser(__doc__)
    parser.add_argument("--part", action="append", choices=["speed", "disk"], help="may be given twice; both by default")
    parser.add_argument("--work", type=Path, default=None, help="folder on the disk to measure")
    parser.add_argument("--device", default="cuda")
    for name, default in (
        ("batch", 50_000),
        ("dim", 100),
        ("chunks", 10),
        ("negatives", 1000),
        ("batches", 100),
        ("nodes", 1_000_000),
        ("disk-nodes", 10_000_000),
        ("disk-edges", 100_000_000),
        ("epochs", 1),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--disk-file", type=on_device.size, default=512 << 20, help="bytes read and written to measure the disk")
    a = parser.parse_args(arguments)
    parts = a.part or ["speed", "disk"]
    accelerator = on_device.accelerator()
    report = Report("gpu_link_prediction", on_device.settings(accelerator, a), a.json)
    verified.GPUS = verified.GPUS or (report.settings["gpu"],)  # `auto` as it is where this code is known to run
    with tempfile.TemporaryDirectory(dir=a.work) as folder:
        if "speed" in parts:
            speed(a, Path(folder), report)
        if "disk" in parts:
            disk(a, Path(folder), report)


if __name__ == "__main__":
    main()
