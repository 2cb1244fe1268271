"""The command `marius-lite export`."""

from __future__ import annotations

from typing import Annotated

import typer

from marius_lite.cli import options


def export(
    run: options.Run,
    output: options.Output,
    format: Annotated[str, typer.Option("--format", help="Format of the files: parquet, npy or zarr.")] = "parquet",
    checkpoint: options.Checkpoint = None,
    dataset: options.Moved = None,
    as_json: options.Json = False,
    allow_code: options.AllowCode = False,
) -> None:
    """Write a checkpoint's results to files, with raw ids: vectors of nodes and relations, or classes and their probabilities."""
    from marius_lite.cli.output import show
    from marius_lite.export import export_run

    show(export_run(run, output, format, checkpoint, dataset), as_json)
