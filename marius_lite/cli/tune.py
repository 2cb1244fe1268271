"""The command `marius-lite tune`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from marius_lite.cli import options
from marius_lite.errors import UserError
from marius_lite.log import log

UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600}


def tune(
    dataset: options.Dataset,
    output: options.Output,
    trials: Annotated[int | None, typer.Option(help="How many settings the first round tries.")] = None,
    time: Annotated[
        str | None, typer.Option(metavar="T", help="How long the search may take, instead: 90s, 20m, 2h. Each round has a part.")
    ] = None,
    config: options.ConfigFile = None,
    sets: options.Sets = None,
    space: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="YAML file that changes what is searched: setting: \\[values], {low, high, log} or null."
        ),
    ] = None,
    processes: Annotated[
        int, typer.Option(help="Trials that run at a time. Each has a part of the cores and of the memory.")
    ] = 1,
    rounds: Annotated[int, typer.Option(help="Rounds, each on more of the graph and for more epochs.")] = 3,
    reduction: Annotated[
        int, typer.Option(help="One of so many trials goes on to the next round, which costs so many times more.")
    ] = 4,
    seed: Annotated[int, typer.Option(help="Seed of the settings that are drawn.")] = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Search for the settings that validate best. The test split is not looked at. An interrupted search goes on."""
    from marius_lite.cli.output import show
    from marius_lite.tune.search import tune_dataset

    try:
        result = tune_dataset(
            dataset,
            output,
            file=None if config is None else str(config),
            sets=tuple(sets or ()),
            space=space,
            trials=trials,
            seconds=_seconds(time),
            processes=processes,
            rounds=rounds,
            reduction=reduction,
            seed=seed,
        )
    except KeyboardInterrupt:
        log.info("%s: the same command goes on with this search", output)
        raise
    show(result, as_json)


def _seconds(text: str | None) -> float | None:
    """Return a time in seconds. Raises UserError for what is none."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h)", text.strip())
    if not found:
        raise UserError(f"--time {text}: write a number and s, m or h, for example 20m")
    return float(found[1]) * UNITS[found[2]]
