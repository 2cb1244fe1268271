"""The command `marius-lite export`."""

from __future__ import annotations

from typing import Annotated

import typer

from marius_lite.cli import options
from marius_lite.export.format import FORMATS


def export(
    run: options.Run,
    output: options.Output,
    format: Annotated[str, typer.Option("--format", help=f"Format of the files: {', '.join(FORMATS)}.")] = "parquet",
    checkpoint: options.Checkpoint = None,
    dataset: options.Moved = None,
    as_json: options.Json = False,
    allow_code: options.AllowCode = False,
) -> None:
    """Write a checkpoint's results to files, with raw ids: vectors of nodes and relations, or classes and their probabilities."""
    from marius_lite.cli.output import show
    from marius_lite.export.run import export_run

    show(export_run(run, output, format, checkpoint, dataset), as_json)
