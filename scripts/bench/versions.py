"""How much faster one version of the program trains than another, on a machine whose speed comes and goes.

    python scripts/bench/versions.py OTHER_PYTHON DATASET [--set KEY=VALUE] [--config preset:plain] [--epochs 5] [--rounds 5]

OTHER_PYTHON: the Python of another installation. In each round both versions train the same run, each in a process of its own,
but never at once: one is stopped (SIGSTOP) while the other goes on for a second, in turn, until both have ended. So whatever
slows the machine down, a neighbour's work or its clock, meets both alike. Counted are the seconds in which a version was allowed
to run, and its processor time, from its start to its end. Whole runs one after the other differed by up to 20 % on a shared
machine, these by less than 2 %. Prints each round, and the median of this version's speed over the other's.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from machine_facts import cpu_name

PROGRAM = "from marius_lite.cli.main import main; main()"
LOOK = 0.005  # seconds between two looks whether a process has ended


@dataclass
class Version:
    """A run of one version: a process group, the seconds that it was allowed to run, and its processor time once it ended."""

    process: subprocess.Popen[bytes]
    active: float = 0.0
    processor: float | None = None

    def go_on(self, seconds: float) -> None:
        """Let it run for so long, or until it ends."""
        os.killpg(self.process.pid, signal.SIGCONT)
        start = time.perf_counter()
        while self.processor is None and time.perf_counter() - start < seconds:
            ended, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if ended:
                self.processor = usage.ru_utime + usage.ru_stime
                if status:
                    raise SystemExit(f"{self.process.args!r} ended with status {status}")
            else:
                time.sleep(LOOK)
        self.active += time.perf_counter() - start
        if self.processor is None:
            os.killpg(self.process.pid, signal.SIGSTOP)


def begin(python: str, run: Path, a: argparse.Namespace) -> Version:
    settings = [*a.set, f"training.epochs={a.epochs}", "evaluation.every_epochs=0"]
    command = [python, "-c", PROGRAM, "train", str(a.dataset), "--run", str(run), "--quiet", "--config", a.config]
    process = subprocess.Popen(
        [*command, *(part for each in settings for part in ("--set", each))],
        cwd=run.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.killpg(process.pid, signal.SIGSTOP)
    return Version(process)


def in_turn(a: argparse.Namespace, this_first: bool) -> tuple[Version, Version]:
    """This version's run and the other's, both ended."""
    with tempfile.TemporaryDirectory(dir=a.work) as folder:
        this, other = (begin(python, Path(folder, name), a) for python, name in ((sys.executable, "this"), (a.other, "other")))
        order = (this, other) if this_first else (other, this)
        try:
            while this.processor is None or other.processor is None:
                for version in order:
                    if version.processor is None:
                        version.go_on(a.slice)
        finally:
            for version in order:
                if version.processor is None:
                    os.killpg(version.process.pid, signal.SIGKILL)
                    version.process.wait()
    return this, other


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other")
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--config", default="preset:plain")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slice", type=float, default=1.0, help="seconds")
    parser.add_argument("--work", type=Path)
    a = parser.parse_args()
    a.dataset = a.dataset.resolve()
    speeds, work = [], []
    for number in range(a.rounds):
        this, other = in_turn(a, this_first=number % 2 == 0)
        assert this.processor is not None
        assert other.processor is not None
        speeds.append(other.active / this.active)
        work.append(other.processor / this.processor)
        print(
            f"round {number + 1}: this {this.active:.1f} s, other {other.active:.1f} s, speed {speeds[-1]:.4f} of the other; "
            f"processor {this.processor:.1f} s, {other.processor:.1f} s, {work[-1]:.4f}",
            flush=True,
        )
    print(
        f"{cpu_name()}, {len(os.sched_getaffinity(0))} CPUs, {a.epochs} epochs, {' '.join(a.set)}: speed "
        f"{statistics.median(speeds):.4f} times the other's "
        f"(by processor time {statistics.median(work):.4f}), median of {a.rounds} rounds"
    )


if __name__ == "__main__":
    main()
