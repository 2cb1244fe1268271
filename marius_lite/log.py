"""Tell what the program does while it works, by the logger `marius_lite`.

The command line prints its messages (`on_standard_error`). In a program that uses the library, Python prints the warnings on
standard error, as it does for every logger that nobody configures. `logging.basicConfig(level=logging.INFO)` shows the rest.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from marius_lite.machine_process import speaks
from marius_lite.printable import printable

log = logging.getLogger("marius_lite")
LOCK = threading.RLock()
"""Bars and lines of one process take turns. By itself tqdm makes a lock between processes, which outlives one that is killed."""


class StandardError(logging.Handler):
    """Prints a line for each message, printable, above the bars of tqdm. Warnings begin with "warning: "."""

    def emit(self, record: logging.LogRecord) -> None:
        kind = f"{record.levelname.lower()}: " if record.levelno >= logging.WARNING else ""
        line = f"{kind}{printable(self.format(record))}"
        try:
            if "tqdm" in sys.modules:  # before it is loaded there are no bars
                bars().write(line, file=sys.stderr)
            else:
                print(line, file=sys.stderr)
            sys.stderr.flush()
        except (OSError, ValueError):
            pass  # nobody reads standard error any more, which is no reason to stop a run


@contextmanager
def on_standard_error() -> Iterator[None]:
    """Print messages on standard error until the block ends: from INFO on, or from the level that `log` is set to meanwhile.

    Of several processes that train together the first one alone does so.
    """
    handler, before = StandardError() if speaks() else logging.NullHandler(), log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


@contextmanager
def only_warnings() -> Iterator[None]:
    """Tell nothing but warnings until the block ends: of a part of the work that the user did not ask for by name."""
    before = log.level
    log.setLevel(max(logging.WARNING, log.getEffectiveLevel()))
    try:
        yield
    finally:
        log.setLevel(before)


def bars() -> Any:
    """Return the class of bars, `tqdm.tqdm`."""
    from tqdm import tqdm  # many commands show none

    tqdm.set_lock(LOCK)
    return tqdm


def shows_bars() -> bool:
    """Return whether to show progress bars: messages are printed from INFO on, and standard error is a terminal."""
    printed = any(isinstance(handler, StandardError) for handler in log.handlers)
    return printed and log.isEnabledFor(logging.INFO) and sys.stderr.isatty()
