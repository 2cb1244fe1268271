"""The option `--processes`: run a command again in several processes, which train together."""

from __future__ import annotations

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


def in_processes(context: typer.Context) -> bool:
    """Run a command again in as many processes as it was asked for, if these are several, and this is none of them.

    Returns whether it did. The processes get the command's arguments and options, but for ``--processes``.
    """
    from marius_lite.machine_process import this_process

    if this_process() is not None:
        from marius_lite.processes.start import stop_with_starter

        stop_with_starter()
        return False
    processes = context.params["processes"]
    if processes is None or processes == 1:
        return False
    from marius_lite.processes.start import run_processes

    given = [str(context.command.name)]
    for parameter in context.command.params:
        if parameter.name != "processes":
            value, name = context.params[str(parameter.name)], parameter.opts[:1] if parameter.param_type_name == "option" else []
            for each in value if isinstance(value, list | tuple) else [value]:
                given += [] if each is None or each is False else name if each is True else [*name, str(each)]
    run_processes(processes, given)
    return True
