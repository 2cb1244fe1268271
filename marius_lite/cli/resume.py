"""The command `marius-lite resume`."""

from __future__ import annotations

import typer

from marius_lite.cli import options
from marius_lite.cli.processes import Processes, in_processes
from marius_lite.machine_process import speaks


def resume(
    context: typer.Context,
    run: options.Run,
    checkpoint: options.From = None,
    sets: options.Sets = None,
    dataset: options.Moved = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    allow_code: options.AllowCode = False,
    tensorboard: options.TensorBoard = False,
    trace: options.Trace = None,
    processes: Processes = None,
) -> None:
    """Continue a run from its latest checkpoint as if nothing had happened.

    With --checkpoint the run goes back to that place. Later checkpoints are removed once a new one is written.
    """
    if in_processes(context):
        return
    from marius_lite.cli.output import show, traced
    from marius_lite.train.run import resume_run

    with traced(run, trace if speaks() else None):
        summary = resume_run(run, checkpoint, sets or [], dataset, tensorboard)
        if speaks():
            show(summary, as_json)
