"""Link prediction, edges per second, against a plain torch loop: everything resident, and a quarter of the partitions.

    python scripts/bench/link_prediction.py EDGES [--rounds 5] [--model distmult] [--batches 100] [--peer FILE.py]

EDGES: .npy (E, 2), or a knowledge graph as text, tab-separated src, rel, dst of any ids. Ours and the peer run in turn, in new
processes, with the same settings and threads; the peer gets the tuned allocator through GLIBC_TUNABLES, ours sets its own.
Dataset and rows lie on the disk under --work (opened past the page cache). Prints each round, the medians, and their ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

TUNED = "glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=8589934592:glibc.malloc.top_pad=268435456"
WARM_UP = 5


def marius(*arguments: object) -> list[str]:
    return [sys.executable, "-c", "from marius_lite.cli.main import main; main()", *map(str, arguments)]


def integers(edges: Path, work: Path) -> Path:
    """The peer's input: raw ids as integers, the same edges."""
    if edges.suffix == ".npy":
        return edges
    columns = np.loadtxt(edges, dtype=str, delimiter="\t", comments=None)
    _, ends = np.unique(columns[:, [0, 2]], return_inverse=True)
    _, rel = np.unique(columns[:, 1], return_inverse=True)
    ends = ends.reshape(-1, 2)
    path = work / "integers.tsv"
    np.savetxt(path, np.stack([ends[:, 0], rel, ends[:, 1]], 1), fmt="%d", delimiter="\t")
    return path


def peer_rate(a: argparse.Namespace, edges: Path) -> float:
    command = [
        sys.executable,
        str(a.peer),
        str(edges),
        "--model",
        a.model,
        "--dim",
        str(a.dim),
        "--batch",
        str(a.batch),
        "--negs",
        str(a.negatives),
        "--chunks",
        str(a.chunks),
        "--batches",
        str(a.batches),
        "--threads",
        str(a.threads),
    ]
    printed = subprocess.run(command, env={**os.environ, "GLIBC_TUNABLES": TUNED}, check=True, text=True, capture_output=True)
    return float(re.findall(r"([\d.]+) edges/s", printed.stdout)[-1])


def our_rate(a: argparse.Namespace, dataset: Path, work: Path, capacity: int) -> tuple[float, float]:
    """(edges/s, share of the time spent waiting for I/O) from the batches' own clock, after WARM_UP of them.

    The process is stopped once it has trained enough batches; steps and their swaps in between are included.
    """
    run = Path(tempfile.mkdtemp(dir=work)) / "run"
    settings = {
        "model.decoder": a.model,
        "model.dim": a.dim,
        "training.batch_size": a.batch,
        "training.epochs": 1000,
        "training.threads": a.threads,
        "negatives.count": a.negatives,
        "negatives.chunks": a.chunks,
        "storage.capacity": capacity,
        "evaluation.every_epochs": 0,
        "checkpoint.every_epochs": 1000,
    }
    process = subprocess.Popen(
        marius("train", dataset, "--run", run, *(f"--set={k}={v}" for k, v in settings.items())),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    lines: list[dict[str, float]] = []
    while process.poll() is None and len(lines) < a.batches + WARM_UP:
        time.sleep(0.2)
        lines = [line for line in read_lines(run / "metrics.jsonl") if line["kind"] == "batch"]
    process.send_signal(signal.SIGKILL)
    _, error = process.communicate()
    if len(lines) < a.batches + WARM_UP:
        raise SystemExit(error.decode())
    counted = lines[WARM_UP : WARM_UP + a.batches]
    seconds = counted[-1]["time"] - lines[WARM_UP - 1]["time"]
    spans = [line["machine"] for line in read_lines(run / "metrics.jsonl") if line["kind"] == "step"]
    waited = sum(span["wait_s"] for span in spans) / max(sum(span["seconds"] for span in spans), 1e-9)
    shutil.rmtree(run.parent)
    return sum(line["edges"] for line in counted) / seconds, waited


def read_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]] if path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("edges", type=Path)
    parser.add_argument("--peer", type=Path, default=Path(__file__).with_name("plain_torch.py"))
    parser.add_argument("--model", default="distmult")
    parser.add_argument("--work", type=Path, default=None)
    for name, default in (
        ("rounds", 5),
        ("batches", 100),
        ("dim", 100),
        ("batch", 10000),
        ("negatives", 1000),
        ("chunks", 10),
        ("partitions", 16),
        ("threads", 2),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    a = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=a.work) as folder:
        work = Path(folder)
        subprocess.run(
            marius("preprocess", a.edges, "--output", work / "dataset", "--partitions", a.partitions),
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        edges = integers(a.edges, work)
        print(
            f"{a.edges.name}, {a.model}, dim {a.dim}, batch {a.batch}, {a.negatives} shared negatives a side in {a.chunks} "
            f"chunks, softmax, {a.threads} threads, {a.partitions} partitions; {a.batches} batches a round"
        )
        rates: dict[str, list[float]] = {"peer": [], "in memory": [], "capacity p/4": []}
        for k in range(a.rounds):
            rates["peer"].append(peer_rate(a, edges))
            in_memory, _ = our_rate(a, dataset=work / "dataset", work=work, capacity=a.partitions)
            out_of_core, waited = our_rate(a, dataset=work / "dataset", work=work, capacity=a.partitions // 4)
            rates["in memory"].append(in_memory)
            rates["capacity p/4"].append(out_of_core)
            print(
                f"round {k}: "
                + ", ".join(f"{name} {values[-1]:,.0f}" for name, values in rates.items())
                + f" edges/s (waiting for I/O {waited:.0%})",
                flush=True,
            )
        medians = {name: statistics.median(values) for name, values in rates.items()}
        print(f"median: peer {a.peer.stem} {medians['peer']:,.0f} edges/s")
        for name in ("in memory", "capacity p/4"):
            print(f"median: {name} {medians[name]:,.0f} edges/s, {medians[name] / medians['peer']:.2f}x the peer")


if __name__ == "__main__":
    main()
