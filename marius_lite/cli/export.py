"""marius-lite export"""

from __future__ import annotations

from typing import Annotated

import typer

from marius_lite.cli import options


def export(run: options.Run,
           output: options.Output,
           format: Annotated[str, typer.Option("--format", help="parquet, npy or zarr.")] = "parquet",
           checkpoint: options.Checkpoint = None, dataset: options.Moved = None, as_json: options.Json = False,
           allow_code: options.AllowCode = False) -> None:
    """Write what a checkpoint holds of nodes and relations with their raw ids: vectors, or classes and their probabilities."""
    from marius_lite.cli.output import show
    from marius_lite.export import export_run

    show(export_run(run, output, format, checkpoint, dataset), as_json)
