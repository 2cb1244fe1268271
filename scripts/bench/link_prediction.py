"""Link prediction, edges per second, against a plain torch loop: everything resident, and a quarter of the partitions.

    python scripts/bench/link_prediction.py EDGES [--rounds 5] [--model distmult] [--batches 100] [--peer FILE.py] [--busy]

EDGES: .npy (E, 2), or a knowledge graph as text, tab-separated src, rel, dst of any ids. Ours and the peer run in turn, in new
processes, with the same settings and threads, in float32 and in mixed precision (the peer: --bf16, by autocast). The peer gets
the tuned allocator through GLIBC_TUNABLES, ours sets its own. Dataset and rows lie on the disk under --work (opened past the page
cache). --busy: each also beside one process that never sleeps. Prints each round, the medians, their ratios, how scores were
computed, and what share of the machine's fastest products of these shapes a whole batch reaches.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import yaml
from commands import words
from machine_facts import cpu_name, peers_environment

from marius_lite.nn import ways
from marius_lite.nn.losses import Softmax

WARM_UP = 5


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


@dataclass(frozen=True)
class Contender:
    """Who trains, in what precision, with how many partitions resident (0: the peer, which has all), and what runs beside it."""

    precision: str
    capacity: int = 0
    busy: bool = False

    def named(self, partitions: int) -> str:
        who = (
            "plain torch"
            if not self.capacity
            else "in memory"
            if self.capacity == partitions
            else f"{self.capacity} of {partitions}"
        )
        return f"{who}, {self.precision}{', beside a busy process' if self.busy else ''}"


@dataclass(frozen=True)
class Measured:
    """Edges per second, the share of the time spent waiting for I/O, and how scores were computed."""

    rate: float
    waited: float = 0.0
    way: str = ""


def measured(a: argparse.Namespace, one: Contender, dataset: Path, edges: Path, work: Path) -> Measured:
    neighbour = subprocess.Popen(["yes"], stdout=subprocess.DEVNULL) if one.busy else None
    try:
        return ours(a, one, dataset, work) if one.capacity else peer(a, one, edges)
    finally:
        if neighbour:
            neighbour.kill()
            neighbour.wait()


def peer(a: argparse.Namespace, one: Contender, edges: Path) -> Measured:
    settings = {
        "model": a.model,
        "dim": a.dim,
        "batch": a.batch,
        "negs": a.negatives,
        "chunks": a.chunks,
        "batches": a.batches,
        "threads": a.threads,
    }
    command = [sys.executable, str(a.peer), str(edges), *(f"--{name}={value}" for name, value in settings.items())]
    command += ["--bf16"] if one.precision == "mixed" else []
    printed = subprocess.run(command, env=peers_environment(), check=True, text=True, capture_output=True)
    return Measured(float(re.findall(r"([\d.]+) edges/s", printed.stdout)[-1]))


def ours(a: argparse.Namespace, one: Contender, dataset: Path, work: Path) -> Measured:
    """Measure by the batches' own clock, after WARM_UP of them.

    The process is stopped once it has trained enough batches; steps and their swaps in between are included.
    """
    run = Path(tempfile.mkdtemp(dir=work)) / "run"
    settings = {
        "model.decoder": a.model,
        "model.dim": a.dim,
        "training.batch_size": a.batch,
        "training.epochs": 1000,
        "training.threads": a.threads,
        "training.precision": one.precision,
        "negatives.count": a.negatives,
        "negatives.chunks": a.chunks,
        "storage.capacity": one.capacity,
        "evaluation.every_epochs": 0,
        "checkpoint.every_epochs": 1000,
        "device": "cpu",
    }
    process = subprocess.Popen(
        words("train", dataset, "--run", run, "--config=preset:plain", *(f"--set={k}={v}" for k, v in settings.items())),
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
    way = yaml.safe_load((run / "config.yaml").read_text())["config"]["training"]["scoring"]
    shutil.rmtree(run.parent)
    return Measured(sum(line["edges"] for line in counted) / seconds, waited, way)


def read_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]] if path.exists() else []


def fastest_products(a: argparse.Namespace, precision: str) -> float:
    """Return GFLOP/s of the fastest products of a batch's shapes: `torch.bmm` of a chunk's queries and negatives, results in
    memory, by the libraries that torch has; and those that training itself takes, with all that is between them."""
    torch.set_num_threads(a.threads)
    kind = torch.bfloat16 if precision == "mixed" else torch.float32
    queries, negatives = torch.randn(a.chunks, a.batch // a.chunks, a.dim), torch.randn(a.chunks, a.negatives, a.dim)
    left, right = queries.to(kind), negatives.to(kind).transpose(1, 2).contiguous()
    out, best = torch.bmm(left, right), float("inf")
    for onednn in (False, True):
        with torch.backends.mkldnn.flags(enabled=onednn):
            for _ in range(20):
                start = time.perf_counter()
                torch.bmm(left, right, out=out)
                best = min(best, time.perf_counter() - start)
    products = 2 * a.batch * a.negatives * a.dim / best / 1e9
    shape = (a.batch // a.chunks, a.negatives, a.dim)
    return max(products, *(a.threads * rate for rate in ways.rates(precision, Softmax(), shape).values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("edges", type=Path)
    parser.add_argument("--peer", type=Path, default=Path(__file__).with_name("plain_torch.py"))
    parser.add_argument("--model", default="distmult")
    parser.add_argument("--work", type=Path, default=None)
    parser.add_argument("--precision", choices=("float32", "mixed"), action="append", help="one of them; both if left out")
    parser.add_argument("--busy", action="store_true", help="also beside one process that never sleeps")
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
    precisions = a.precision or ["float32", "mixed"]
    contenders = [Contender(each, capacity) for each in precisions for capacity in (0, a.partitions, a.partitions // 4)]
    if a.busy:
        contenders += [Contender(each, capacity, True) for each in precisions for capacity in (0, a.partitions)]
    with tempfile.TemporaryDirectory(dir=a.work) as folder:
        work = Path(folder)
        subprocess.run(
            words("preprocess", a.edges, "--output", work / "dataset", "--partitions", a.partitions),
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        edges = integers(a.edges, work)
        print(
            f"{cpu_name()}; {a.edges.name}, {a.model}, dim {a.dim}, batch {a.batch}, {a.negatives} shared negatives a side in "
            f"{a.chunks} chunks, softmax, {a.threads} threads, {a.partitions} partitions; {a.batches} batches a round"
        )
        found: dict[Contender, list[Measured]] = {one: [] for one in contenders}
        for k in range(a.rounds):
            for one, results in found.items():
                results.append(measured(a, one, work / "dataset", edges, work))
            print(
                f"round {k}: " + "; ".join(f"{one.named(a.partitions)} {r[-1].rate:,.0f}" for one, r in found.items()), flush=True
            )
    report(a, precisions, found)


def report(a: argparse.Namespace, precisions: list[str], found: dict[Contender, list[Measured]]) -> None:
    """Print each median, its ratio to the peer in float32 and in its own precision, and its share of the fastest products."""
    operations = 2 * 6 * a.negatives * a.dim  # of an edge: both sides, scores and both gradients
    fastest = {each: fastest_products(a, each) for each in precisions}
    rates = {one: statistics.median(each.rate for each in results) for one, results in found.items()}
    for one, rate in rates.items():
        line = f"median: {one.named(a.partitions)}: {rate:,.0f} edges/s"
        for other in sorted({precisions[0], one.precision}):
            theirs = rates.get(Contender(other, 0, one.busy))
            line += f", {rate / theirs:.2f}x plain torch in {other}" if theirs and one.capacity else ""
        if one.busy:
            line += f", {rate / rates[Contender(one.precision, one.capacity)]:.0%} of idle"
        if one.capacity:
            last, share = found[one][-1], rate * operations / 1e9 / fastest[one.precision]
            line += f"; {last.way}, waiting for I/O {last.waited:.0%}, {share:.0%} of {fastest[one.precision]:,.0f} GFLOP/s"
        print(line)


if __name__ == "__main__":
    main()
