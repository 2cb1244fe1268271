"""Ways to train a graph neural network from disk: accuracy, seconds, bytes and memory of each, on the same datasets.

    python scripts/bench/out_of_core_gnn.py DATASET... --config FILE [--ways "memory;exact 1;exact 20;layerwise"] [--seeds 0,1]
                                            [--set KEY=VALUE] [--work FOLDER]

Each row is `marius-lite train` and `marius-lite eval` (test split, last checkpoint) in new processes. memory: everything
resident. Any other way has what --set gives it (storage.memory, storage.capacity, ...). resident: neighbours in resident
partitions alone. exact K: neighbours anywhere, samples kept for K epochs. layerwise: one layer after another.

Prints a row for each seed, and a mean for each way. Seconds and bytes are an epoch's: the median of all but the first. Bytes are
those that rows in packs read and wrote, temporary files included; the page cache may serve them: it is left as it is.
``disk_gb_read`` is what the system read from the disk for the process, in-edge lists included.

``floor`` is the time that neither of two bounds lets an epoch go below: the seconds of the way before it that is called memory,
and the bytes read from the disk at its rate (measured at the start, past the page cache). ``times`` is seconds over it.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from itertools import product
from pathlib import Path

from commands import result_of
from disk_rate import rates
from machine_facts import cpu_name

from marius_lite.files import remove_tree
from marius_lite.metrics import read

COLUMNS = ("accuracy", "seconds", "gb_read", "gb_written", "disk_gb_read", "peak_gb", "floor", "times")


def settings(way: str, sets: list[str]) -> list[str]:
    """What a way sets. Everything is resident with the capacity auto, which takes what the machine has."""
    name, _, epochs = way.partition(" ")
    if name == "memory":
        given = [item for item in sets if not item.startswith("storage.")]
        return [*given, "sampling.scope=resident", "storage.memory=auto"]
    if name == "layerwise":
        return [*sets, "training.method=layerwise"]
    return [*sets, f"sampling.scope={name}", *([f"sampling.refresh_epochs={epochs}"] if epochs else [])]


def measured(dataset: Path, config: Path, sets: list[str], run: Path) -> dict[str, float]:
    """Figures of one run. ``seconds`` and bytes: of an epoch."""
    given = [part for item in sets for part in ("--set", item)]
    result_of("train", dataset, "--run", run, "--config", config, *given)
    epochs = [line["machine"] for line in read(run / "metrics.jsonl") if line["kind"] == "epoch"]
    later = epochs[1:] or epochs
    found = result_of("eval", run, "--checkpoint", "latest")
    return {
        "accuracy": 100 * found["accuracy"],
        "seconds": statistics.median(epoch["seconds"] for epoch in later),
        "gb_read": statistics.median(epoch["bytes_read"] for epoch in later) / 1e9,
        "gb_written": statistics.median(epoch["bytes_written"] for epoch in later) / 1e9,
        "disk_gb_read": statistics.median(epoch["disk_read"] for epoch in later) / 1e9,
        "peak_gb": max(epoch["peak_rss"] for epoch in epochs) / 1e9,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="+", type=Path)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--ways", default="memory;exact 1;exact 20", help="separated by ;")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--set", dest="sets", action="append", default=[])
    parser.add_argument("--work", type=Path, default=None, help="folder for the runs, which are removed afterwards")
    a = parser.parse_args()
    if a.work:
        a.work.mkdir(parents=True, exist_ok=True)
    reads, writes = (rate / 1e9 for rate in rates(a.work or a.datasets[0].absolute().parent))
    print(f"{a.config.name}, {' '.join(a.sets)}, {cpu_name()}; the disk reads {reads:.2f} and writes {writes:.2f} GB/s")
    print(f"| graph | way | seed | {' | '.join(COLUMNS)} |")
    print("|---" * (3 + len(COLUMNS)) + "|", flush=True)
    with tempfile.TemporaryDirectory(dir=a.work) as folder:
        memory = {}  # seconds of an epoch with everything resident, by dataset and seed
        for dataset, way in product(a.datasets, a.ways.split(";")):
            rows = []
            for seed in a.seeds.split(","):
                run = Path(folder) / "run"
                row = measured(dataset, a.config, [*settings(way, a.sets), f"training.seed={seed}"], run)
                if way == "memory":
                    memory[dataset, seed] = row["seconds"]
                row["floor"] = max(memory.get((dataset, seed), 0.0), row["disk_gb_read"] / reads)
                row["times"] = row["seconds"] / (row["floor"] or math.nan)
                rows.append(row)
                remove_tree(run)
                show(dataset, way, seed, row)
            if len(rows) > 1:
                spread = statistics.stdev(row["accuracy"] for row in rows)
                means = {name: statistics.mean(row[name] for row in rows) for name in COLUMNS}
                show(dataset, way, f"mean, accuracy ± {spread:.2f}", means)


def show(dataset: Path, way: str, seed: str, row: dict[str, float]) -> None:
    figures = " | ".join(f"{row[name]:.2f}" for name in COLUMNS)
    print(f"| {dataset.name} | {way} | {seed} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
