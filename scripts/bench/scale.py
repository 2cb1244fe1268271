"""What an edge costs as the graph grows: everything resident, and out of core in a fixed memory.

    python scripts/bench/scale.py [--nodes 1000000 --nodes 10000000] [--edges 10] [--memory 1GB] [--partitions 64] [--rounds 1]
        [--precision mixed] [--set KEY=VALUE]... [--work DIR]

Graphs of a power law with so many --nodes, and --edges times as many edges. Of each, whole epochs in turn: all partitions
resident, and as few as the largest graph can have in --memory (as many for smaller graphs, so that all are out of core alike).
DistMult, 100 numbers, batches of 10,000 edges with 10 x 1,000 negatives, row-wise Adagrad, preset:plain. Each run is a process of
its own, of one epoch; rows lie on the disk under --work, which is read and written past the page cache. Prints every run, and the
ratios of the medians. The largest graph of the default takes as long as 200 M edges take this machine's processor, a round.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commands import make_graph, result_of
from machine_facts import cpu_name

from marius_lite.metrics import read
from marius_lite.sizes import format_bytes

SETTINGS = {
    "model.decoder": "distmult",
    "model.dim": 100,
    "training.batch_size": 10_000,
    "training.epochs": 1,
    "negatives.count": 1000,
    "negatives.chunks": 10,
    "evaluation.every_epochs": 0,
    "checkpoint.keep": 1,
    "device": "cpu",
}


@dataclass(frozen=True)
class Case:
    """A graph of so many ``nodes``, with so many partitions resident. ``memory``: the limit from which they follow, if any."""

    nodes: int
    capacity: int
    memory: str | None = None

    def named(self, partitions: int) -> str:
        inside = self.capacity == partitions
        return (
            f"{self.nodes / 1e6:g} M nodes, {'everything resident' if inside else f'out of core, {self.memory or self.capacity}'}"
        )


def dataset_of(a: argparse.Namespace, nodes: int, work: Path) -> Path:
    dataset = work / f"{nodes}"
    if not dataset.exists():
        edges = work / "edges"
        make_graph("power_law.py", edges, nodes=nodes, edges=a.edges * nodes)
        result_of("preprocess", *sorted(edges.glob("*.npy")), "--output", dataset, "--partitions", a.partitions)
        shutil.rmtree(edges)
    return dataset


def trained(a: argparse.Namespace, case: Case, dataset: Path, work: Path) -> dict[str, Any]:
    """Train an epoch; what its line of metrics says of the machine."""
    run = work / "run"
    shutil.rmtree(run, ignore_errors=True)
    limit = f"storage.memory={case.memory}" if case.memory else f"storage.capacity={case.capacity}"
    result_of("train", dataset, "--run", run, *chosen(a, limit), "--quiet")
    (epoch,) = (line for line in read(run / "metrics.jsonl") if line["kind"] == "epoch")
    return {**epoch["machine"], "edges": epoch["edges"]}


def resident_in_memory(a: argparse.Namespace, dataset: Path) -> int:
    """How many partitions the limit holds."""
    return int(result_of("plan", dataset, *chosen(a, f"storage.memory={a.memory}"))["capacity"])


def chosen(a: argparse.Namespace, limit: str) -> list[str]:
    """The words that choose the settings of a run."""
    given = [*(f"{key}={value}" for key, value in SETTINGS.items()), f"training.precision={a.precision}", limit, *a.set]
    return ["--config", "preset:plain", *(part for each in given for part in ("--set", each))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, action="append")
    parser.add_argument("--edges", type=int, default=10, help="edges for each node")
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--partitions", type=int, default=64)
    parser.add_argument("--precision", default="mixed")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--work", type=Path, default=None)
    a = parser.parse_args()
    sizes = sorted(a.nodes or [1_000_000, 10_000_000])
    with tempfile.TemporaryDirectory(dir=a.work) as folder:
        measure(a, sizes, Path(folder))


def measure(a: argparse.Namespace, sizes: list[int], work: Path) -> None:
    datasets = {nodes: dataset_of(a, nodes, work) for nodes in sizes}
    capacity = resident_in_memory(a, datasets[sizes[-1]])
    inside = {nodes: Case(nodes, a.partitions) for nodes in sizes}
    outside = {nodes: Case(nodes, capacity, a.memory if nodes == sizes[-1] else None) for nodes in sizes}
    print(
        f"{cpu_name()}, {len(os.sched_getaffinity(0))} threads, load {os.getloadavg()[0]:.1f}; {a.precision}, "
        f"{a.edges} edges a node, {a.partitions} partitions, {capacity} of them in {a.memory}",
        flush=True,
    )
    taken: dict[Case, list[float]] = {}
    for _ in range(a.rounds):
        for case in (each for nodes in sizes for each in (inside[nodes], outside[nodes])):
            machine = trained(a, case, datasets[case.nodes], work)
            seconds = machine["seconds"]
            taken.setdefault(case, []).append(1e6 * seconds / machine["edges"])
            print(
                f"{case.named(a.partitions):44} {seconds:8.1f} s {machine['edges'] / seconds:10,.0f} edges/s, "
                f"waiting for I/O {machine['wait_s'] / seconds:.1%}, "
                f"{format_bytes(int(machine['bytes_read'] + machine['bytes_written']))} of rows moved, "
                f"peak RSS {format_bytes(int(machine['peak_rss']))}",
                flush=True,
            )
    cost = {case: statistics.median(each) for case, each in taken.items()}
    for name, cases in (("everything resident", inside), ("out of core", outside)):
        for nodes in sizes[1:]:
            ratio = cost[cases[nodes]] / cost[cases[sizes[0]]]
            print(f"cost of an edge, {nodes / 1e6:g} M nodes / {sizes[0] / 1e6:g} M, {name}: {ratio:.3f} (at most 1.10)")
    ratio = cost[outside[sizes[-1]]] / cost[inside[sizes[-1]]]
    print(f"{sizes[-1] / 1e6:g} M nodes, an epoch in {a.memory} / everything resident: {ratio:.3f} (at most 1.15)")


if __name__ == "__main__":
    main()
