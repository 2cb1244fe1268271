"""Training on the GPU against training on the CPU, and every path against every other.

    python scripts/bench/gpu_agreement.py [--edges 300000] [--epochs 10] [--json]

Link prediction on a graph with a planted rule, half of its partitions resident, with drawn negatives, and with all resident nodes
and a loss of relations; then GraphSAGE classifying nodes by features and learned rows together. One seed.
Every path, a second run of one of them, one with hot rows held on the device, one that is launched call by call, without CUDA
graphs, and one of GraphSAGE that draws neighbours there must end with the same bits in rows, weights and losses. The CPU's sums
have another order, so there only the first losses and the filtered MRR are compared.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import gpu_gnn
import on_device
import training
from commands import make_graph, options
from on_device import Report

RUNS: dict[str, dict[str, object]] = {
    "zero_copy": {"storage.device_path": "zero_copy"},
    "zero_copy again": {"storage.device_path": "zero_copy"},
    "staged": {"storage.device_path": "staged"},
    "bulk": {"storage.device_path": "bulk"},
    "zero_copy, hot rows held": {"storage.device_path": "zero_copy", "storage.device_cache": "200kB"},
}
LAUNCHED: dict[str, dict[str, object]] = {"call by call": {"storage.device_path": "zero_copy", "training.device_graphs": False}}
DRAWN: dict[str, dict[str, object]] = {
    "neighbours drawn by the GPU": {"storage.device_path": "zero_copy", "sampling.device": "cuda"}
}
LOSS_GOAL, MRR_GOAL = 1e-3, 0.01
PARTITIONS, RESIDENT = 8, 4
FIRST = 5
"""Batches whose losses are compared: rounding has not grown yet."""


def dataset_of(a: argparse.Namespace, work: Path) -> Path:
    make_graph("planted_kg.py", work / "graph", nodes=a.nodes, edges=a.edges)
    files = {split: work / "graph" / f"{split}.tsv" for split in ("train", "valid", "test")}
    parts = options(valid=files["valid"], test=files["test"], partitions=PARTITIONS)
    training.marius("preprocess", files["train"], *parts, "--output", work / "dataset")
    return work / "dataset"


def links(a: argparse.Namespace, work: Path, report: Report) -> None:
    common = {
        "model.dim": a.dim,
        "training.batch_size": a.batch,
        "training.epochs": a.epochs,
        "negatives.count": a.negatives,
        "storage.capacity": RESIDENT,
        "evaluation.every_epochs": a.epochs,
        "checkpoint.keep": 1,
    }
    dataset = dataset_of(a, work)
    mrr = compare(a, work, report, "", dataset, common, {**RUNS, **LAUNCHED})
    report.add("filtered MRR on the GPU", mrr["zero_copy"])
    report.add(
        "filtered MRR, difference to the CPU's",
        abs(mrr["zero_copy"] - mrr["cpu"]),
        at_most=MRR_GOAL,
        detail=f"CPU {mrr['cpu']:.4f}",
    )
    dropped(a, work, report, "", dataset, common)
    every = {"negatives.count": "all", "model.decoder": "complex", "model.reciprocal": True, "loss.relation_weight": 0.1}
    fewer = {name: RUNS[name] for name in ("zero_copy", "bulk")}
    settings = {**common, **every, "training.epochs": 2, "evaluation.every_epochs": 0}
    compare(a, work, report, "all negatives and relations: ", dataset, settings, {**fewer, **LAUNCHED})


def dropped(a: argparse.Namespace, work: Path, report: Report, task: str, dataset: Path, common: dict[str, object]) -> None:
    """With dropout, whose masks are others than the CPU's, there are the GPU's runs alone."""
    runs = {"zero_copy": RUNS["zero_copy"], **LAUNCHED}
    ends = []
    for name, more in runs.items():
        run = work / f"{task[:1]}dropout-{name.replace(' ', '-')}"
        lines = training.train(dataset, run, {**common, "device": a.device, "model.dropout": 0.3, **more})
        ends.append((training.bits(run), training.losses(lines)))
    same = ends.count(ends[0])
    report.add(f"{task}with dropout: runs that end with the same bits", same, f"of {len(runs)}", at_least=len(runs))


def nodes(a: argparse.Namespace, work: Path, report: Report) -> None:
    """Four times as many batches as the benchmark of this makes at least, so that most are repeated as graphs."""
    work.mkdir()
    sizes = argparse.Namespace(
        nodes=a.nodes,
        edges=a.edges,
        batch=max(1, a.nodes // 40),
        batches=1,
        partitions=PARTITIONS,
        fanouts=[5, 3],
        device=a.device,
    )
    settings = gpu_gnn.settings(sizes, "auto", sampler="cpu")
    kept = {name: value for name, value in settings.items() if not name.startswith("storage.device")}
    common = {
        **kept,
        "model.inputs": "both",
        "model.dim": a.dim,
        "storage.capacity": RESIDENT,
        "sampling.scope": "resident",  # which a GPU has; a CPU would see all neighbours
        "checkpoint.keep": 1,
        "negatives.chunks": 1,
        "training.epochs": 4,
    }
    dataset = gpu_gnn.dataset_of(sizes, work)
    compare(a, work, report, "GraphSAGE: ", dataset, common, {**RUNS, **LAUNCHED, **DRAWN})
    dropped(a, work, report, "GraphSAGE, ", dataset, common)


def compare(
    a: argparse.Namespace,
    work: Path,
    report: Report,
    task: str,
    dataset: Path,
    common: dict[str, object],
    runs: dict[str, dict[str, object]],
) -> dict[str, float]:
    """Train on the CPU and in every way of ``runs`` on the GPU; the MRR of each run that has one."""
    ends: dict[str, tuple[str, list[float]]] = {}  # the bits of the last checkpoint, and every loss
    mrr: dict[str, float] = {}
    for name, more in {"cpu": {}, **runs}.items():
        run = training.fresh(work / name.replace(" ", "-"))
        lines = training.train(
            dataset, run, {**common, "device": "cpu" if name == "cpu" else a.device, "training.scoring": "torch", **more}
        )
        ends[name] = training.bits(run), training.losses(lines)
        evaluations = [float(line["mrr"]) for line in lines if line["kind"] == "evaluation"]
        mrr |= {name: evaluations[-1]} if evaluations else {}
    same = [name for name in runs if ends[name] == ends["zero_copy"]]
    report.add(
        f"{task}runs on the GPU that end with the same bits",
        len(same),
        f"of {len(runs)}",
        at_least=len(runs),
        detail=", ".join(same),
    )
    apart = [abs(gpu - cpu) / abs(cpu) for cpu, gpu in zip(ends["cpu"][1][:FIRST], ends["zero_copy"][1][:FIRST], strict=True)]
    report.add(f"{task}first {FIRST} losses, largest difference to the CPU's", max(apart), "relative", at_most=LOSS_GOAL)
    return mrr


def main(arguments: list[str] | None = None) -> None:
    parser = on_device.parser(__doc__)
    parser.add_argument("--device", default="cuda")
    for name, default in (
        ("nodes", 10_240),
        ("edges", 300_000),
        ("dim", 100),
        ("batch", 10_000),
        ("negatives", 1000),
        ("epochs", 10),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    a = parser.parse_args(arguments)
    accelerator = on_device.accelerator()
    report = Report("gpu_agreement", on_device.settings(accelerator, a), a.json)
    with tempfile.TemporaryDirectory() as folder:
        links(a, Path(folder), report)
        nodes(a, Path(folder) / "nodes", report)


if __name__ == "__main__":
    main()
