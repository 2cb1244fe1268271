"""GraphSAGE on a GPU, batches per second: against a PyTorch Geometric loader, and against everything in device memory.

    python scripts/bench/gpu_gnn.py [--nodes 1000000] [--edges 20000000] [--batch 1000] [--rounds 3] [--work DIR] [--json]

Three layers, 128 wide, neighbours 15, 10, 5, Adam; 128 float32 features a node, in host memory, and 40 classes, both made up; a
power-law graph. Ours by every path, with the share --cached of the rows held on the device, and with all of them there (bulk:
what is left to travel is the sampled graph); `auto` once more with neighbours drawn by the CPU, and by the GPU from pinned
lists, all others by whichever was faster; the peer (pyg_gpu.py) is a process of its own, with workers and pinned memory. All in
turn; the rate is that of the batches after a warm-up, medians of --rounds. Then both samplers alone, over the same batches, which
must agree.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import on_device
import training
from commands import make_graph, options
from on_device import Report

from marius_lite import make_dataset
from marius_lite.config.machine import cpu_threads
from marius_lite.device import verified
from marius_lite.device.accelerator import Accelerator
from marius_lite.device.neighbours import DeviceNeighbours
from marius_lite.graph import Dataset
from marius_lite.sampling.neighbours import NeighbourLists

WIDTH, CLASSES = 128, 40
WARM_UP = 20
"""More than `auto` compares the samplers in."""
PEER_GOAL, RESIDENT_GOAL = 2.0, 1.15
PATHS = ("zero_copy", "staged", "bulk", "auto")
CACHED = "zero_copy, hot rows held"
SAMPLERS = {"cpu": "neighbours drawn by the CPU", "cuda": "neighbours drawn by the GPU"}


def dataset_of(a: argparse.Namespace, work: Path) -> Path:
    """A power-law graph both ways, random features and labels, as many training nodes as batches ask for."""
    rng = np.random.default_rng(0)
    make_graph("power_law.py", work, nodes=a.nodes, edges=a.edges)
    np.save(work / "all.npy", np.concatenate([np.load(path) for path in sorted(work.glob("edges-*.npy"))]))
    np.save(work / "features.npy", rng.random((a.nodes, WIDTH), np.float32))
    np.save(work / "labels.npy", rng.integers(CLASSES, size=a.nodes))
    np.save(work / "train.npy", rng.permutation(a.nodes)[: a.batch * (a.batches + WARM_UP)])
    make_dataset(
        [str(work / "all.npy")],
        work / "dataset",
        features=work / "features.npy",
        labels=work / "labels.npy",
        train_nodes=work / "train.npy",
        partitions=a.partitions,
        adjacency="in",
        undirected=True,
    )
    return work / "dataset"


def settings(a: argparse.Namespace, path: str, cache: int = 0, sampler: str = "auto") -> dict[str, object]:
    return {
        "task": "node_classification",
        "model.encoder": "sage",
        "model.layers": [WIDTH] * (len(a.fanouts) - 1),
        "model.inputs": "features",
        "sampling.fanouts": a.fanouts,
        "sampling.device": sampler,
        "training.epochs": 1,
        "training.batch_size": a.batch,
        "optimizer.dense.name": "adam",
        "optimizer.dense.lr": 0.003,
        "evaluation.every_epochs": 0,
        "device": a.device,
        "storage.capacity": a.partitions,
        "storage.device_path": path,
        "storage.device_cache": cache,
    }


def ours(a: argparse.Namespace, dataset: Path, work: Path, path: str, cache: int = 0, sampler: str = "auto") -> float:
    lines = training.train(dataset, training.fresh(work / "run"), settings(a, path, cache, sampler))
    return batch_rate([line for line in lines if line["kind"] == "batch"])


def batch_rate(batches: list[dict[str, Any]]) -> float:
    return (len(batches) - WARM_UP) / max(batches[-1]["time"] - batches[WARM_UP - 1]["time"], 1e-3)


def peer(a: argparse.Namespace, work: Path) -> tuple[float, str]:
    """(batches per second, what it is)."""
    command = [
        sys.executable,
        str(Path(__file__).with_name("pyg_gpu.py")),
        str(work),
        *options(batch=a.batch, fanouts=",".join(map(str, a.fanouts)), workers=a.workers, device=a.peer_device or a.device),
    ]
    path = os.pathsep.join(filter(None, [str(training.ROOT), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path})
    told = json.loads(done.stdout.splitlines()[-1])
    return float(told["batches_per_s"]), told["loader"]


def samplers(a: argparse.Namespace, dataset: Path, accelerator: Accelerator, report: Report) -> None:
    """Edges drawn in a second by the CPU and by the GPU, of batches that both draw."""
    data = Dataset.open(dataset)
    assert data.adjacency is not None
    partitioning, rng = data.partitioning, np.random.default_rng(0)
    with (
        closing(NeighbourLists(data.adjacency, own_pages=True)) as lists,
        closing(DeviceNeighbours(accelerator, partitioning)) as gpu,
    ):
        lists.enter({k: k * partitioning.rows for k in range(partitioning.partitions)})
        gpu.enter(lists.resident)
        rates: dict[str, list[float]] = {name: [] for name in SAMPLERS}
        for seed in range(WARM_UP + 5 * a.rounds):
            seeds = rng.choice(a.nodes, a.batch, replace=False).astype(np.int64)
            samples = []
            for name, sampler in (("cpu", lists), ("cuda", gpu)):
                start = time.perf_counter()
                samples.append(sampler.sample(seeds, a.fanouts, seed))
                rates[name] += [len(samples[-1].indices) / (time.perf_counter() - start)] * (seed >= WARM_UP)
            assert all((getattr(samples[0], name) == getattr(samples[1], name)).all() for name in ("nodes", "indptr", "indices"))
    for name, told in SAMPLERS.items():
        report.add(f"{told}, nothing else", statistics.median(rates[name]), "edges/s")


def tell(a: argparse.Namespace, report: Report, rates: dict[str, list[float]], loader: str, so_far: str) -> None:
    """The medians of the rounds until now."""
    medians = {name: statistics.median(values) for name, values in rates.items()}
    for name, values in rates.items():
        spread = f"{min(values):,.3g} to {max(values):,.3g}"
        if name == "peer":
            report.add("peer", medians["peer"], "batches/s", detail=f"{loader}, {spread}{so_far}")
        else:
            report.add(f"ours, {name}", medians[name], "batches/s", detail=f"{spread}{so_far}")
    report.add("ours, auto / peer", medians["auto"] / medians["peer"], "x", at_least=PEER_GOAL, detail=f"{loader}{so_far}")
    report.add(
        "a batch with hot rows held / with all rows in device memory",
        medians["bulk"] / medians[CACHED],
        "x",
        at_most=RESIDENT_GOAL,
        detail=f"{a.cached:.0%} of the rows held{so_far}",
    )


def measure(a: argparse.Namespace, work: Path, accelerator: Accelerator, report: Report) -> None:
    dataset = dataset_of(a, work)
    rates: dict[str, list[float]] = {name: [] for name in ("peer", *PATHS, CACHED, *SAMPLERS.values())}
    for done in range(1, a.rounds + 1):
        rate, loader = peer(a, work)
        rates["peer"].append(rate)
        for path in PATHS:
            rates[path].append(ours(a, dataset, work, path))
        rates[CACHED].append(ours(a, dataset, work, "zero_copy", int(a.cached * a.nodes * WIDTH * 4)))
        for sampler, name in SAMPLERS.items():
            rates[name].append(ours(a, dataset, work, "auto", sampler=sampler))
        tell(a, report, rates, loader, on_device.so_far(done, a.rounds))
    samplers(a, dataset, accelerator, report)


def main(arguments: list[str] | None = None) -> None:
    parser = on_device.parser(__doc__)
    parser.add_argument("--work", type=Path, default=None)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--peer-device", default=None, help="of the peer, where it is another one")
    parser.add_argument("--fanouts", type=lambda text: [int(each) for each in text.split(",")], default=[15, 10, 5])
    parser.add_argument("--workers", type=int, default=max(1, cpu_threads() - 2), help="of the peer's loader")
    parser.add_argument("--cached", type=float, default=0.2, help="share of the rows")
    for name, default in (("nodes", 1_000_000), ("edges", 20_000_000), ("batch", 1000), ("batches", 100), ("partitions", 8)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.set_defaults(rounds=3)
    a = parser.parse_args(arguments)
    accelerator = on_device.accelerator()
    report = Report("gpu_gnn", on_device.settings(accelerator, a), a.json)
    verified.GPUS = verified.GPUS or (report.settings["gpu"],)  # `auto` as it is where this code is known to run
    with tempfile.TemporaryDirectory(dir=a.work) as folder:
        measure(a, Path(folder), accelerator, report)


if __name__ == "__main__":
    main()
