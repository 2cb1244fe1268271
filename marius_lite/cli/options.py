"""The options that several commands share."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, Optional

import typer

from marius_lite.config.presets import PRESETS
from marius_lite.files import check_name
from marius_lite.log import log
from marius_lite.own_code import allowing_code

NAMES = ", ".join(PRESETS)


def _allow(context: typer.Context, allowed: bool) -> bool:
    """Allow code that is not installed until the command ends, if the option is given."""
    context.with_resource(allowing_code(allowed))
    return allowed


def named(parameter: typer.CallbackParam, path: Path | None) -> Path | None:
    """Check the name of a file or folder that the command makes."""
    if path is not None:
        check_name(path, f"--{parameter.name}")
    return path


Dataset = Annotated[
    Path,
    typer.Argument(
        metavar="DATASET", help="Folder that `preprocess` or `repartition` made, or an address such as s3://bucket/name."
    ),
]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder that `train` made, or an address such as s3://bucket/name.")]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help=f"YAML file (docs/configuration.md lists its keys), or preset:NAME. Presets: {NAMES}. Without it, the "
        "preset that suits the dataset, and the task or encoder that --set names.",
    ),
]
Sets = Annotated[Optional[list[str]], typer.Option("--set", metavar="KEY.PATH=VALUE", help="Change one key. May be repeated.")]  # noqa: UP045
Checkpoint = Annotated[
    str | None,
    typer.Option(
        help="Name of a checkpoint, or `latest`, or `best`. The default is the best, if evaluations chose one, else the latest."
    ),
]
From = Annotated[str | None, typer.Option("--checkpoint", help="Name of a checkpoint, or `best`, or `latest`, the default.")]
Queries = Annotated[
    Path | None,
    typer.Option(
        "--queries",
        "--batch",
        metavar="FILE",
        help="One query in each line of a text: raw ids parted by tabs or commas, with ? for what is asked: `src rel ?` or "
        "`? rel dst`, without `rel` where the dataset has no relations. Or a .parquet file with these columns, null for what is "
        "asked. - is standard input. For a run that classifies nodes: one raw id in each line or row; without the file, all "
        "nodes. Each node is answered once, in the order of the dataset.",
    ),
]
ExcludeSelf = Annotated[
    bool | None,
    typer.Option(
        "--exclude-self/--include-self",
        help="Leave the node that a query is about out of the answers, or not. By default it is "
        "left out where fewer than one training edge in 1,000 leads from a node to itself. Published rankings include it.",
    ),
]
Moved = Annotated[Optional[Path], typer.Option("--dataset", metavar="DIR", help="Where the run's dataset is, if it was moved.")]  # noqa: UP045
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        callback=_allow,
        help="Let `model.encoder: package.module:"
        "Class` run code from anywhere, the working folder too. Else only installed packages.",
    ),
]
NewRun = Annotated[
    Path,
    typer.Option(
        "--run",
        callback=named,
        help="Folder for the run, which must be empty, or not exist yet; or an address such as s3://bucket/name.",
    ),
]
Output = Annotated[Path, typer.Option("--output", "-o", callback=named, help="Folder to make.")]


Trace = Annotated[
    Path | None,
    typer.Option(
        "--trace",
        metavar="FILE",
        help="At the end, write what was done when, for ui.perfetto.dev: steps, waiting, loading, writing, checkpoints.",
    ),
]
TensorBoard = Annotated[
    bool, typer.Option("--tensorboard", help="Write event files for TensorBoard while training, in the run's tensorboard/.")
]


def _say_from(level: int, asked: bool) -> bool:
    """Show messages from a level on, if the option is given."""
    if asked:
        log.setLevel(level)
    return asked


Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        callback=lambda asked: _say_from(logging.WARNING, asked),
        help="Write only warnings and errors to standard error.",
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", callback=lambda asked: _say_from(logging.DEBUG, asked), help="Also write a line for each step."
    ),
]
