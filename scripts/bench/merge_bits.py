"""What fewer bits a number save, and cost: bytes between processes, and the quality of links beside 32 bits.

    python scripts/bench/merge_bits.py DATASET [--config preset:plain] [--set KEY=VALUE] [--ranks 4] [--processes 2] [--epochs 6]
                                       [--seeds 3] [--bits 32 8 4]

DATASET: one in at least 2 * ranks partitions. For each seed and each `scale.merge_bits`, in turn, trains a run in so many lanes.
Prints the filtered MRR of the test split (all nodes are candidates) and the bytes that came to the first process in the last
epoch; then the means, and how they compare with the first of the bits.
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


def measured(a: argparse.Namespace, bits: int, seed: int) -> tuple[float, int]:
    """(test MRR, bytes that came to the first process in the last epoch) of a run."""
    run = a.work / f"merge-bits-{bits}"
    shutil.rmtree(run, ignore_errors=True)
    settings = [f"scale.ranks={a.ranks}", f"training.epochs={a.epochs}", "checkpoint.keep=1", "evaluation.every_epochs=0"]
    settings += [f"scale.merge_bits={bits}", f"training.seed={seed}", *a.set]
    sets = [part for each in settings for part in ("--set", each)]
    result_of("train", a.dataset, "--run", run, "--config", a.config, *sets, "--processes", a.processes, "--quiet")
    epoch = [line for line in read(run / "metrics.jsonl") if line["kind"] == "epoch"][-1]
    return result_of("eval", run, "--quiet")["mrr"], epoch["machine"]["meet_bytes"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--config", default="preset:plain")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--bits", type=int, nargs="+", default=[32, 8, 4])
    parser.add_argument("--work", type=Path, default=Path("build/bench"))
    a = parser.parse_args()
    a.work.mkdir(parents=True, exist_ok=True)
    print(f"{cpu_name()}; {a.dataset}, {a.config} {' '.join(a.set)}, {a.ranks} lanes, {a.epochs} epochs", flush=True)
    found: dict[int, list[tuple[float, int]]] = {bits: [] for bits in a.bits}
    for seed in range(a.seeds):
        for bits in a.bits:
            found[bits].append(measured(a, bits, seed))
            mrr, size = found[bits][-1]
            print(f"seed {seed}, {bits} bits: test MRR {mrr:.4f}, {size:,} bytes, load {os.getloadavg()[0]:.1f}", flush=True)
    means = {bits: [statistics.mean(column) for column in zip(*each)] for bits, each in found.items()}
    first = means[a.bits[0]]
    for bits, (mrr, size) in means.items():
        print(f"{bits} bits: mean MRR {mrr:.4f} ({mrr - first[0]:+.4f}), bytes / {first[1] / size:.2f}")


if __name__ == "__main__":
    main()
