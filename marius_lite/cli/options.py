"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from marius_lite.config.presets import PRESETS

NAMES = ", ".join(PRESETS)

Dataset = Annotated[Path, typer.Argument(metavar="DATASET", help="Folder that `preprocess` made.")]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder that `train` made.")]
ConfigFile = Annotated[Optional[Path], typer.Option(  # noqa: UP045
    "--config", help=f"YAML file (docs/configuration.md lists its keys), or preset:NAME, of {NAMES}; without it, the preset that "
    "suits the dataset.")]
Sets = Annotated[Optional[list[str]], typer.Option("--set", metavar="KEY.PATH=VALUE", help="Change one key; may be repeated.")]  # noqa: UP045
Checkpoint = Annotated[Optional[str], typer.Option(help="Name of a checkpoint, `latest` or `best`.")]  # noqa: UP045
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
