"""Say in one table what came of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from marius_lite.config.planning import planning_of
from marius_lite.report.page import paragraph, table
from marius_lite.report.subject import Subject
from marius_lite.sizes import format_bytes


def outcome(runs: Sequence[Subject]) -> str:
    """Return a table of the main figures, a column for each run, with remarks about what is missing."""
    facts = [_facts(run) for run in runs]
    keys = dict.fromkeys(key for each in facts for key in each)
    remarks = [f"{run.name}: {remark}" for run in runs for remark in _remarks(run)]
    rows = [[key, *(each.get(key) for each in facts)] for key in keys]
    return table(["", *(run.name for run in runs)] if len(runs) > 1 else ["", ""], rows) + "".join(map(paragraph, remarks))


def _facts(run: Subject) -> dict[str, Any]:
    history, metric = run.history, run.config.training.metric
    model = planning_of(run.config).described(run.config)
    best, last = _ends(run, metric)
    loss = history.curve("loss")
    facts: dict[str, Any] = {
        "task": run.config.task.replace("_", " "),
        "model": model.get("encoder", model.get("decoder")),
        "epochs": f"{history.epochs:,} of {run.config.training.epochs:,}",
        "batches": history.batches,
        f"best {metric} ({history.evaluation.get('split', 'not evaluated')})": best,
        f"last {metric}": last,
        "last epoch's loss": float(loss.mean[-1]) if loss else None,
    }
    if history.last_time > history.first_time:
        facts["time"] = _duration(float(history.elapsed(np.array([history.last_time]))[0]))
        facts["stops in between"] = len(history.pauses)
    speed, waiting, memory = (history.curve(name) for name in ("throughput", "waiting", "memory"))
    if speed and waiting:
        unit = planning_of(run.config).unit
        facts[f"{unit} a second, mean of epochs"] = round(float(speed.mean.mean()))
        facts["waiting for I/O"] = f"{100 * float(waiting.mean.mean()):.1f} %"
    if memory:
        facts["peak memory"] = format_bytes(float(memory.high.max()))
    return facts


def _ends(run: Subject, metric: str) -> tuple[float | None, float | None]:
    curve = run.history.curve(metric)
    if curve is None:
        return None, None
    best = curve.low.min() if metric in ("log_loss", "mean_rank") else curve.high.max()
    return float(best), run.history.evaluation.get(metric)


def _remarks(run: Subject) -> list[str]:
    history, remarks = run.history, []
    if not history.batches:
        remarks.append("nothing is trained yet: metrics.jsonl has no batches")
    if run.lacks:
        remarks.append(run.lacks)
    if history.unreadable:
        remarks.append(f"{history.unreadable:,} lines of metrics.jsonl cannot be read and are left out")
    if run.missing:
        remarks.append(f"its dataset is not shown: {run.missing}")
    return remarks


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    if minutes == 0:
        return f"{seconds:.1f} s"
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02} minutes"
