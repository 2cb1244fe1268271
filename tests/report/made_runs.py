"""Runs that were never trained: records and lines of metrics.jsonl of any length."""

import json
import math

from marius_lite.report.thinned import MOST

STARTED = 1.8e9


def write_metrics(path, epochs, batches, pause_after=None, pace=0.01):
    """Write lines of the form that a run writes. ``pause_after``: an epoch after which another process goes on, an hour later.
    ``pace``: seconds of a batch."""
    now, started = STARTED, STARTED
    with open(path, "w") as file:

        def write(kind, epoch, batch=0, **values):
            line = {"kind": kind, "epoch": epoch, "step": 0, "batch": batch, **values, "time": round(now, 3)}
            file.write(json.dumps(line, separators=(",", ":")) + "\n")

        for epoch in range(epochs):
            begin = now
            for batch in range(batches):
                now += pace
                loss = 3 * math.exp(-epoch / epochs) + (10 if batch == 7 and epoch == epochs // 2 else 0)
                first = {"lr": {"rows": 0.1 / (epoch + 1), "dense": 0.01}} if batch == 0 else {}
                write("batch", epoch, batch, loss=loss, edges=100, **first)
            machine = {"seconds": now - begin, "wait_s": 0.1 * (now - begin), "disk_read": 5000, "peak_rss": 10**9}
            write("step", epoch, machine=machine)
            spans = {"step": [[begin - started, now - started]], "load": [[1, begin - started, now - started]]}
            write("timeline", epoch, machine={"started": started, **spans, "resident": [0, 1], "trained": [0, 1]})
            write("epoch", epoch, loss=loss, edges=100 * batches, machine={**machine, "edges_per_s": 1e4})
            write("evaluation", epoch, split="valid", mrr=1 - 1 / (epoch + 2), count=10)
            if epoch == pause_after:
                now += 3600
                started = now


LONG = 3 * MOST
