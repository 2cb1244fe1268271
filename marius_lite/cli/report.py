"""The command `marius-lite report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from marius_lite.cli import options


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN [RUN2 ...]", help="Folders that `train` made.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The page. By default report.html in the folder of the first run."),
    ] = None,
    evaluate: Annotated[
        bool,
        typer.Option(
            "--evaluate", help="Evaluate the whole test split first, unless that is done, and make the vectors of encoders."
        ),
    ] = False,
    dataset: options.Moved = None,
    allow_code: options.AllowCode = False,
    as_json: options.Json = False,
) -> None:
    """Show a run, or several beside each other, as one HTML page: curves, the plan, quality, settings. It needs no network."""
    from marius_lite.cli.output import show
    from marius_lite.report.make import report_run

    show(report_run(runs, output, dataset, evaluate), as_json)
