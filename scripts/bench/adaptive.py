"""Two workers of which one is slow: how long `scale.mode: adaptive` takes to an accuracy, beside lanes, which split each batch.

    python scripts/bench/adaptive.py DATASET [--config preset:plain] [--set KEY=VALUE] [--slow 3] [--epochs 8] [--seeds 3]

DATASET: one with labels. For each seed, in turn, trains a run in two lanes and an adaptive one, in two processes each. The second
process sleeps after all that it computes for a batch (samples, rows, gradients), so that it takes ``--slow`` times as long, on a
busy machine too. Prints seconds of training until the validation accuracy is ``--share`` of the best that the lanes reach, the
share of the adaptive run in that of the lanes, how much slower the second process was by the nodes that it trained, and the test
accuracy of both best checkpoints.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from commands import result_of
from machine_facts import cpu_name

from marius_lite.metrics import read

WORK = "work"
"""The first argument where this script is one of the processes of a run."""


def slowed(function: Callable[..., Any], times: float) -> Callable[..., Any]:
    """The function, which takes so many times as long."""

    def call(*arguments: Any) -> Any:
        start = time.perf_counter()
        result = function(*arguments)
        time.sleep((times - 1) * (time.perf_counter() - start))
        return result

    return call


def work(slow: float, arguments: list[str]) -> int:
    """Run a command of marius-lite as one of the processes of a run, the second so many times slower."""
    from marius_lite.cli.main import run
    from marius_lite.rows.batch import Learner
    from marius_lite.rows.host import HostGather
    from marius_lite.tasks.node_classification import NodeLearning

    if os.environ["RANK"] == "1":
        for owner, name in ((HostGather, "__call__"), (NodeLearning, "prepare"), (Learner, "__call__")):
            setattr(owner, name, slowed(getattr(owner, name), slow))
    return run(arguments)


def train(run: Path, slow: float, dataset: Path, settings: list[str], config: str) -> list[dict[str, Any]]:
    """Train a run whose second process is so many times slower, and return the lines of its metrics."""
    shutil.rmtree(run, ignore_errors=True)
    sets = [part for each in settings for part in ("--set", each)]
    command = [sys.executable, __file__, WORK, str(slow), "train", dataset, "--run", run, "--config", config, *sets]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    with open(run.with_suffix(".log"), "w") as log:
        both = [
            subprocess.Popen([*map(str, command)], env={**os.environ, **place, "RANK": str(rank)}, stdout=log, stderr=log)
            for rank in range(2)
        ]
    codes = [process.wait() for process in both]
    if any(codes):
        raise SystemExit(f"{' '.join(map(str, command))} failed: {run.with_suffix('.log').read_text()}")
    return read(run / "metrics.jsonl")


def accuracies(lines: list[dict[str, Any]]) -> list[tuple[float, float]]:
    """(seconds of training so far, validation accuracy) after each epoch."""
    seconds = [line["machine"]["seconds"] for line in lines if line["kind"] == "epoch"]
    figures = [line["accuracy"] for line in lines if line["kind"] == "evaluation"]
    return [(sum(seconds[: epoch + 1]), figure) for epoch, figure in enumerate(figures)]


def until(found: list[tuple[float, float]], accuracy: float) -> float:
    """Seconds until an accuracy is reached, between two epochs in proportion; infinite where it never is."""
    before = (0.0, 0.0)
    for seconds, figure in found:
        if figure >= accuracy:
            part = (accuracy - before[1]) / (figure - before[1]) if before[1] else 1.0
            return before[0] + part * (seconds - before[0])
        before = (seconds, max(figure, before[1]))
    return float("inf")


def test_accuracy(run: Path) -> float:
    return float(result_of("eval", run, "--quiet")["accuracy"])


def slower(lines: list[dict[str, Any]]) -> float:
    """How many times as many nodes the first worker has trained as the second, once batches have found their sizes."""
    merges = [line["machine"]["nodes"] for line in lines if line["kind"] == "merge"]
    first, second = (sum(column) for column in zip(*merges[len(merges) // 3 :]))
    return float(first / max(second, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--config", default="preset:plain")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--slow", type=float, default=3.0)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--share", type=float, default=0.995)
    parser.add_argument("--work", type=Path, default=Path("build/bench"))
    a = parser.parse_args()
    a.work.mkdir(parents=True, exist_ok=True)
    print(f"{cpu_name()}; {a.dataset}, {a.config} {' '.join(a.set)}; two processes, the second {a.slow} times slower", flush=True)
    ratios, differences = [], []
    for seed in range(a.seeds):
        settings = ["scale.ranks=2", f"training.epochs={a.epochs}", "evaluation.every_epochs=1", f"training.seed={seed}", *a.set]
        runs = {mode: a.work / f"adaptive-{mode}" for mode in ("lanes", "adaptive")}
        lines = {mode: train(run, a.slow, a.dataset, [*settings, f"scale.mode={mode}"], a.config) for mode, run in runs.items()}
        found = {mode: accuracies(each) for mode, each in lines.items()}
        accuracy = a.share * max(figure for _, figure in found["lanes"])
        static, adaptive = (until(found[mode], accuracy) for mode in ("lanes", "adaptive"))
        tested = {mode: test_accuracy(run) for mode, run in runs.items()}
        ratios.append(adaptive / static)
        differences.append(100 * (tested["adaptive"] - tested["lanes"]))
        whole = {mode: each[-1][0] for mode, each in found.items()}
        print(
            f"seed {seed}: accuracy {accuracy:.4f} after {static:.1f} s in lanes, {adaptive:.1f} s adaptive, {ratios[-1]:.2f}; "
            f"all epochs {whole['lanes']:.1f} s, {whole['adaptive']:.1f} s; {slower(lines['adaptive']):.1f} times slower; "
            f"test accuracy {tested['lanes']:.4f}, {tested['adaptive']:.4f}; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    print(
        f"adaptive takes {statistics.median(ratios):.2f} of the time of lanes (median of {a.seeds}); test accuracy "
        f"{statistics.mean(differences):+.2f} points (mean)"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == [WORK]:
        sys.exit(work(float(sys.argv[2]), sys.argv[3:]))
    main()
