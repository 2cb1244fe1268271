"""Write what a run did when as a trace for Perfetto (ui.perfetto.dev) or Chrome (chrome://tracing), from its metrics.jsonl.

The format is Chrome's: an object with a list of "complete" events, which have a name, a begin (``ts``) and a length (``dur``) in
microseconds, and stand in rows (``tid``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from marius_lite.checkpoint.run_folder import RunFolder, read_record
from marius_lite.errors import UserError
from marius_lite.files import whole
from marius_lite.report.history import Line, lines_but_batches

ROWS = {"step": "steps", "training": "training", "wait": "waiting", "checkpoint": "checkpoints", "evaluation": "evaluation"}
"""The rows of the trace, in order; below them are those of partitions."""
FIRST_PARTITION = 100


def write_trace(run: Path | str, output: Path | str) -> dict[str, Any]:
    """Write the trace of all epochs of a run to the file ``output``, which is replaced. Returns its path and number of events.

    Memory does not grow with the run. Raises UserError for a folder that is no run, or one without timelines; RunError where the
    disk fails.
    """
    folder, target = RunFolder.to_read(run), Path(output)
    read_record(folder)
    count = 0
    with whole(target) as file:
        file.write(b'{"displayTimeUnit":"ms","traceEvents":[\n')
        for count, event in enumerate(_events(folder.metrics_file), 1):
            file.write(((",\n" if count > 1 else "") + json.dumps(event, separators=(",", ":"))).encode())
        file.write(b"\n]}\n")
        if not count:
            raise UserError(f"{folder.metrics_file}: no timeline: no step has ended yet, or an earlier version trained it")
    return {"trace": str(target), "events": count}


def _events(metrics: Path) -> Iterator[dict[str, Any]]:
    rows = set[int]()
    first: float | None = None
    for line in lines_but_batches(metrics):
        if line["kind"] != "timeline":
            continue
        started = line["machine"]["started"]
        first = started if first is None else first
        for row, name, title, begin, end in _spans(line):
            if row not in rows:
                rows.add(row)
                yield {"ph": "M", "name": "thread_name", "pid": 1, "tid": row, "args": {"name": title}}
                yield {"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": row, "args": {"sort_index": row}}
            ts = round((started - first + begin) * 1e6)
            at = {"epoch": line["epoch"] + 1, "step": line["step"]}
            yield {"ph": "X", "name": name, "pid": 1, "tid": row, "ts": ts, "dur": round((end - begin) * 1e6), "args": at}


def _spans(line: Line) -> Iterator[tuple[int, str, str, float, float]]:
    """Yield the row, the name, the row's title, the begin and the end of what a line tells."""
    told = line["machine"]
    step, waits = told.get("step", []), [*told.get("wait", []), *told.get("checkpoint", [])]
    for place, (key, title) in enumerate(ROWS.items(), 1):
        name = f"epoch {line['epoch'] + 1}, step {line['step']}" if key == "step" else key
        for begin, end in _between(step, waits) if key == "training" else told.get(key, []):
            yield place, name, title, begin, end
    for key, name in (("load", "loading"), ("write", "writing")):
        for k, begin, end in told.get(key, []):
            yield FIRST_PARTITION + k, name, f"partition {k}", begin, end


def _between(step: list[list[float]], others: list[list[float]]) -> Iterator[tuple[float, float]]:
    """Yield what is left of a step without other spans."""
    for at, end in step:
        for begin, until in sorted(others):
            if at < begin < end:
                yield at, begin
            at = max(at, until)
        if at < end:
            yield at, end
