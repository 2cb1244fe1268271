"""Print the results of commands: one JSON object with ``--json``, aligned lines without."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from marius_lite.log import log
from marius_lite.printable import printable

MOST_SHOWN = 8  # items of a list; a longer one is only counted
MOST_NAME = 24  # characters of a class's name in a table


def show(result: Mapping[str, Any], as_json: bool) -> None:
    """Print a result on standard output."""
    if as_json:
        print(json.dumps(result))
        return
    width = max((len(key) for key in result), default=0)
    for key, value in result.items():
        print(f"{key:<{width}}  {printable(_text(value))}")


@contextmanager
def traced(run: Path, trace: Path | None) -> Iterator[None]:
    """Write the run's trace to the file ``trace``, if one is given, once the block ends, or was stopped by a signal.

    Its folder must be there. What stops a trace of an interrupted run is told, and does not hide where the run goes on.
    """
    from marius_lite.errors import MariusError
    from marius_lite.files import require_folder_of
    from marius_lite.processes.interrupt import Interrupted
    from marius_lite.report.trace import write_trace

    if trace is not None and trace.absolute().parent != run.absolute():
        require_folder_of(trace, "--trace")
    try:
        yield
    except Interrupted:
        if trace is not None:
            try:
                write_trace(run, trace)
            except MariusError as error:
                log.warning(f"no trace is written: {printable(str(error))}")
        raise
    if trace is not None:
        write_trace(run, trace)


def show_row(*cells: Any) -> None:
    """Print a row of a table: cells parted by tabs. Control characters in them, tabs and line ends too, are shown as escapes."""
    print(*(printable(str(cell)) for cell in cells), sep="\t")


def show_confusion(counts: Sequence[Sequence[int]], names: Iterable[Any]) -> None:
    """Print the confusion matrix. The row of a class says how many of its nodes were given each class."""
    print("confusion: a row for each class, a column for each answer")
    shown = [printable(str(name))[:MOST_NAME] for name in names]
    width, count = max(map(len, shown)), max(len(str(value)) for row in counts for value in row)
    for name, row in zip(shown, counts):
        print(f"  {name:<{width}}  {' '.join(f'{value:>{count}}' for value in row)}")


def warn(lines: Iterable[str]) -> None:
    """Print warnings on standard error."""
    for line in lines:
        print(f"warning: {printable(line)}", file=sys.stderr)


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_text(inner)}" for key, inner in value.items())
    if isinstance(value, list) and len(value) > MOST_SHOWN:
        return f"{len(value)} (--json lists them)"
    if isinstance(value, list | tuple):
        return ("; " if any(isinstance(each, Mapping) for each in value) else ", ").join(map(_text, value)) or "none"
    return str(value)
