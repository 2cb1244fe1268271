"""marius-lite export"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from marius_lite.cli import options


def export(run: options.Run,
           output: Annotated[Path, typer.Option("--output", help="Folder to make.")],
           format: Annotated[str, typer.Option("--format", help="parquet or npy.")] = "parquet",
           checkpoint: options.Checkpoint = None, as_json: options.Json = False) -> None:
    """Write the node and relation vectors of a checkpoint with their raw ids."""
    from marius_lite.cli.output import show
    from marius_lite.export import export_run

    show(export_run(run, output, format, checkpoint), as_json)
