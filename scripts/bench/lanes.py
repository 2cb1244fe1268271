"""What several lanes cost: quality beside one lane, and speed of several processes beside one.

    python scripts/bench/lanes.py DATASET [--config preset:plain] [--set KEY=VALUE] [--ranks 4] [--epochs 10] [--rounds 5]

DATASET: one in at least 2 * ranks partitions. Prints the filtered MRR of the test split (all nodes are candidates) after so many
epochs with one lane and with several, from the same seed; then the speed of an epoch, in turn: one lane with all threads, and two
lanes in two processes with half of the threads each, with the share of the second in the first.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
from pathlib import Path

from commands import result_of
from machine_facts import cpu_name

from marius_lite.metrics import read


def train(a: argparse.Namespace, ranks: int, epochs: int, threads: int, processes: int = 1) -> Path:
    """Train a run; returns its folder."""
    run = a.work / f"lanes-{ranks}-{processes}"
    shutil.rmtree(run, ignore_errors=True)
    settings = [*a.set, f"scale.ranks={ranks}", f"training.epochs={epochs}", f"training.threads={threads}", "checkpoint.keep=1"]
    settings += ["evaluation.every_epochs=0"]
    sets = [part for each in settings for part in ("--set", each)]
    result_of("train", a.dataset, "--run", run, "--config", a.config, *sets, "--processes", processes, "--quiet")
    return run


def mrr(run: Path) -> float:
    return float(result_of("eval", run, "--quiet")["mrr"])


def speed(run: Path) -> float:
    """Edges a second of the fastest epoch but the first."""
    epochs = [line for line in read(run / "metrics.jsonl") if line["kind"] == "epoch"]
    return max(line["machine"]["edges_per_s"] for line in epochs[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--config", default="preset:plain")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", type=Path, default=Path("build/bench"))
    a = parser.parse_args()
    a.work.mkdir(parents=True, exist_ok=True)
    threads = len(os.sched_getaffinity(0))
    print(
        f"{cpu_name()}, {threads} threads; {a.dataset}, {a.config} {' '.join(a.set)}, load {os.getloadavg()[0]:.1f}", flush=True
    )
    if a.epochs:
        one, several = (mrr(train(a, ranks, a.epochs, threads)) for ranks in (1, a.ranks))
        print(
            f"test MRR after {a.epochs} epochs: one lane {one:.4f}, {a.ranks} lanes {several:.4f}, {several - one:+.4f}",
            flush=True,
        )
    ratios = []
    for number in range(a.rounds):
        alone = speed(train(a, 1, 3, threads))
        apart = speed(train(a, 2, 3, max(1, threads // 2), processes=2))
        ratios.append(apart / alone)
        print(f"round {number + 1}: one process {alone:,.0f}, two processes {apart:,.0f} edges/s, {ratios[-1]:.2f}", flush=True)
    if ratios:
        print(f"two processes reach {statistics.median(ratios):.2f} of one (median of {len(ratios)})")


if __name__ == "__main__":
    main()
