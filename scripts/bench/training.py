"""What the GPU benchmarks share that train whole runs: datasets, runs, and what their metrics say."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import sys
from pathlib import Path
from typing import Any

from marius_lite.cli.main import run as command
from marius_lite.config.load import load
from marius_lite.metrics import read
from marius_lite.train.run import train_run

ROOT = Path(__file__).parents[2]


def marius(*arguments: object) -> None:
    """A command of the CLI in this process, its output on standard error."""
    with contextlib.redirect_stdout(sys.stderr):
        code = command([str(argument) for argument in arguments])
    if code:
        raise SystemExit(code)


def train(dataset: Path, run: Path, settings: dict[str, object], config: Path | None = None) -> list[dict[str, Any]]:
    """Train a run from its first epoch; the lines of its metrics."""
    train_run(dataset, run, load(config, [f"{key}={value}" for key, value in settings.items()]))
    return read(run / "metrics.jsonl")


def edge_rate(lines: list[dict[str, Any]], warm_up: int) -> float:
    """Edges per second of the batches after the first ``warm_up``, by the batches' own clock."""
    batches = [line for line in lines if line["kind"] == "batch"]
    if len(batches) <= warm_up:
        raise SystemExit(f"a run of {len(batches)} batches is all warm-up: give it more edges or smaller batches")
    counted = batches[warm_up:]
    return sum(line["edges"] for line in counted) / max(counted[-1]["time"] - batches[warm_up - 1]["time"], 1e-3)


def losses(lines: list[dict[str, Any]]) -> list[float]:
    return [line["loss"] for line in lines if line["kind"] == "batch"]


def bits(run: Path) -> str:
    """SHA-256 over the rows and dense weights of a run's latest checkpoint."""
    place = run / "checkpoints" / "latest"
    digest, rows = hashlib.sha256(), sorted((place / "nodes" / "c").glob("*/0"))
    if not rows:
        raise SystemExit(f"{place}: a checkpoint without rows")
    for path in [*rows, place / "dense.safetensors"]:
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def fresh(folder: Path) -> Path:
    """The path of a run that does not exist yet."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder
