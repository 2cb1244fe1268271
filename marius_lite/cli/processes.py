"""The option `--processes`: run a command again in several processes, which train together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Optional

import typer

Processes = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--processes",
        min=1,
        metavar="N",
        help="Train in so many processes on this machine, at most one for each of the lanes of `scale.ranks`. The result is the "
        "same for any number. With `scale.mode: adaptive` it is as many as ranks.",
    ),
]


def in_processes(processes: int | None, command: str, places: Sequence[Path], options: Mapping[str, object]) -> bool:
    """Run a command in ``processes``, if several are asked for, and this is none of them. Returns whether it did.

    ``options``: by name; None and False are left out, True has no value, a list is repeated.
    """
    from marius_lite.machine_process import this_process

    if this_process() is not None:
        from marius_lite.processes.start import stop_with_starter

        stop_with_starter()
        return False
    if processes is None or processes == 1:
        return False
    from marius_lite.processes.start import run_processes

    given = [command, *map(str, places)]
    for name, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            given += [] if each is None or each is False else [name] if each is True else [name, str(each)]
    run_processes(processes, given)
    return True
