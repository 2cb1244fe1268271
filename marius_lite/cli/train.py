"""The command `marius-lite train`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from marius_lite.cli import options
from marius_lite.cli.processes import Processes, in_processes
from marius_lite.errors import UserError
from marius_lite.machine_process import speaks

WarmStart = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="RUN",
        help="Begin with what another run learned, on an older version of this dataset (see `update`) or on this one: its best "
        "checkpoint, else its latest. New nodes begin with the mean of their neighbours.",
    ),
]

FROZEN = ("old", "relations", "both")
Freeze = Annotated[
    str | None,
    typer.Option(
        "--freeze",
        metavar="|".join(FROZEN),
        help="With --from: what stays as it is, bit for bit: rows of the nodes that RUN knew, weights of its relations, or both "
        "(the setting training.freeze).",
    ),
]


def train(
    context: typer.Context,
    dataset: options.Dataset,
    run: options.NewRun,
    config: options.ConfigFile = None,
    sets: options.Sets = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    allow_code: options.AllowCode = False,
    tensorboard: options.TensorBoard = False,
    trace: options.Trace = None,
    processes: Processes = None,
    warm: WarmStart = None,
    freeze: Freeze = None,
) -> None:
    """Train a model on a dataset, from the first epoch to the last, with checkpoints on the way."""
    if in_processes(context):
        return
    if freeze is not None:
        if freeze not in FROZEN:
            raise UserError(f"--freeze {freeze}: there are {', '.join(FROZEN)}")
        if warm is None:
            raise UserError(f"--freeze {freeze}: needs --from RUN, of which something stays as it is")
        sets = [*(sets or []), f"training.freeze={freeze}"]
    from marius_lite.cli.output import show, traced
    from marius_lite.graph.defaults import config_for
    from marius_lite.train.run import train_run

    if warm is not None and config is None:
        from marius_lite.warm.start import settings_of

        config = settings_of(warm)
    with traced(run, trace if speaks() else None):
        summary = train_run(dataset, run, lambda opened: config_for(opened, config, sets or []), warm, tensorboard)
        if speaks():
            show(summary, as_json)
