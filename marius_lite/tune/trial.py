"""A trial: a run of its own, in a process of its own, which goes on after a kill and dies with the search."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

from marius_lite import files
from marius_lite.config.metric import better
from marius_lite.config.schema import Config
from marius_lite.metrics import each

CONTEXT: ForkServerContext = multiprocessing.get_context("forkserver")
CONFIG = "config.yaml"
FAILED = "failed.json"


@dataclass(frozen=True)
class Job:
    """What a trial trains: a dataset, with a configuration, in the run's folder."""

    dataset: Path
    run: Path
    config: Config


@dataclass(frozen=True)
class Outcome:
    """What came of a trial. ``value``: the best figure, None where there is none. ``error``: why it failed, if it did."""

    value: float | None
    epochs: int
    error: str | None = None


def start(job: Job) -> ForkServerProcess:
    """Start a trial, or go on with one that was killed."""
    CONTEXT.set_forkserver_preload(["marius_lite.train.run"])
    process = CONTEXT.Process(target=_train, args=(job,), daemon=True)
    # The server of processes inherits what is blocked: Ctrl-C, which reaches it too, would end its imports with a traceback.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return process


def outcome(job: Job, metric: str) -> Outcome:
    """Return what a trial that has ended came to, by the evaluations of its run."""
    best: float | None = None
    epochs = 0
    for line in each(job.run / "metrics.jsonl"):
        epochs += line["kind"] == "epoch"
        if line["kind"] == "evaluation" and line.get(metric) is not None:
            best = line[metric] if better(metric, line[metric], best) else best
    failed = job.run.with_suffix(f".{FAILED}")
    error = files.read_json(failed)["error"] if failed.exists() else None
    return Outcome(None if error else best, epochs, error)


def forget(run: Path) -> None:
    """Remove a trial's files."""
    for path in (run, run.with_suffix(f".{FAILED}"), run.with_suffix(".log")):
        files.remove_tree(path)


def _train(job: Job) -> None:
    """Train in this process. What it says goes to a file beside its run."""
    threading.Thread(target=_die_with_the_search, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the search tells its trials to stop
    descriptor = os.open(job.run.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    from marius_lite.errors import MariusError
    from marius_lite.log import on_standard_error
    from marius_lite.processes.interrupt import Interrupted
    from marius_lite.train.run import resume_run, train_run

    try:
        with on_standard_error():
            if (job.run / CONFIG).exists():
                resume_run(job.run)
            else:
                files.remove_tree(job.run)
                train_run(job.dataset, job.run, job.config)
    except Interrupted as stopped:
        sys.exit(stopped.exit_code)
    except (MariusError, MemoryError, OSError) as error:
        _tell(job, f"{type(error).__name__}: out of memory" if isinstance(error, MemoryError) else str(error))
        sys.exit(1)


def _tell(job: Job, error: str) -> None:
    told: dict[str, Any] = {"error": error}
    files.write_atomic(job.run.with_suffix(f".{FAILED}"), json.dumps(told).encode())


def _die_with_the_search() -> None:
    """Kill this process once the search has ended, however it did."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)
