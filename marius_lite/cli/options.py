"""Options that several commands share."""

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
    context.with_resource(allowing_code(allowed))
    return allowed


def _named(parameter: typer.CallbackParam, path: Path | None) -> Path | None:
    if path is not None:
        check_name(path, f"--{parameter.name}")
    return path


Dataset = Annotated[Path, typer.Argument(metavar="DATASET", help="Folder that `preprocess` made.")]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder that `train` made.")]
ConfigFile = Annotated[Optional[Path], typer.Option(  # noqa: UP045
    "--config", help=f"YAML file (docs/configuration.md lists its keys), or preset:NAME, of {NAMES}; without it, the preset that "
    "suits the dataset.")]
Sets = Annotated[Optional[list[str]], typer.Option("--set", metavar="KEY.PATH=VALUE", help="Change one key; may be repeated.")]  # noqa: UP045
Checkpoint = Annotated[Optional[str], typer.Option(  # noqa: UP045
    help="Name of a checkpoint, `latest` or `best`; by default the best where evaluations chose one.")]
From = Annotated[Optional[str], typer.Option(  # noqa: UP045
    "--checkpoint", help="Name of a checkpoint, or `best`; by default the latest.")]
Queries = Annotated[Optional[Path], typer.Option(  # noqa: UP045
    "--queries", help="Text, one query a line, tab-separated raw ids with ? for what is asked: `src rel ?` or `? rel dst`. Of a "
    "run that classifies nodes: raw ids, one a line, each answered once in the order of the dataset; all nodes if left out.")]
ExcludeSelf = Annotated[Optional[bool], typer.Option(  # noqa: UP045
    "--exclude-self/--include-self", help="Whether the node that a query is about is no answer. By default it is one where one "
    "training edge in 1,000 or more leads from a node to itself. Published figures of ranking have it among the candidates.")]
Moved = Annotated[Optional[Path], typer.Option("--dataset", metavar="DIR", help="Where the run's dataset is, if it was moved.")]  # noqa: UP045
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
AllowCode = Annotated[bool, typer.Option("--allow-code", callback=_allow, help="Let `model.encoder: package.module:"
                                         "Class` run code from anywhere, the working folder too, not only installed packages'.")]
NewRun = Annotated[Path, typer.Option("--run", callback=_named, help="Folder for the run; must not exist yet.")]
Output = Annotated[Path, typer.Option("--output", "-o", callback=_named, help="Folder to make.")]


def _say_from(level: int, asked: bool) -> bool:
    if asked:
        log.setLevel(level)
    return asked


Quiet = Annotated[bool, typer.Option("--quiet", "-q", callback=lambda asked: _say_from(logging.WARNING, asked),
                                     help="Nothing but warnings and errors on standard error.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", callback=lambda asked: _say_from(logging.DEBUG, asked),
                                       help="A line for each step, too.")]
