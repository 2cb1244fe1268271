"""How long short commands take, which is mostly the start of Python and of what they import.

    python scripts/bench/commands_start.py [--rounds 9] [--marius-lite PATH]

Makes a graph of 2,000 nodes with features and classes, and runs each command `--rounds` times, in turn. Prints medians (least and
most) of seconds and of processor seconds. ``--marius-lite``: the command, by default that beside this Python. The first round is
not counted: there Python compiles what it imports, and keeps that, as it does for a user.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

TRAIN = ["train", "graph", "--run", "run", "--config", "preset:sage", "--set", "training.epochs=1"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--marius-lite", type=Path, default=Path(sys.executable).parent / "marius-lite")
    a = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    command = str(a.marius_lite.absolute())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        found = measured(command, a.rounds)
    print("| command | seconds | processor seconds |\n|---|---|---|")
    for command, times in found.items():
        print(
            f"| {command} |", " | ".join(f"{statistics.median(t):.2f} ({min(t):.2f} to {max(t):.2f})" for t in zip(*times)), "|"
        )
    return 0


def measured(command: str, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Return (seconds, processor seconds) of each round of each command."""
    rng = np.random.default_rng(0)
    np.save("edges.npy", rng.integers(0, 2_000, (10_000, 2)))
    np.save("x.npy", rng.standard_normal((2_000, 16)).astype(np.float32))
    np.save("y.npy", rng.integers(0, 4, 2_000))
    preprocess = ["preprocess", "edges.npy", "--output", "graph", "--features", "x.npy", "--labels", "y.npy"]
    commands = {
        "--help": ["--help"],
        "preprocess": [*preprocess, "--node-split", "0.6,0.2,0.2", "--adjacency", "in"],
        "info": ["info", "graph"],
        "train (GraphSAGE, 1 epoch)": TRAIN,
        "eval": ["eval", "run"],
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for counted in [False, *[True] * rounds]:
        for made in ("graph", "run"):
            shutil.rmtree(made, ignore_errors=True)
        for name, words in commands.items():
            times = timed([command, *words])
            if counted:
                found[name].append(times)
    return found


def timed(words: list[str]) -> tuple[float, float]:
    """Return the seconds and processor seconds of a command."""
    before, begun = processor_seconds(), time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr}")
    return time.perf_counter() - begun, processor_seconds() - before


def processor_seconds() -> float:
    """Return what all commands so far took, of all their threads."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
