"""Messages of the program while it works: the logger `marius_lite`.

The command line prints it (`on_standard_error`). In a program that uses the library, Python prints the warnings on standard
error, as those of every logger that nobody has configured, and `logging.basicConfig(level=logging.INFO)` shows the rest.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

log = logging.getLogger("marius_lite")


class StandardError(logging.Handler):
    """A line for each message, above the bars of tqdm that stand there; the warnings say that they are some."""

    def emit(self, record: logging.LogRecord) -> None:
        kind = f"{record.levelname.lower()}: " if record.levelno >= logging.WARNING else ""
        line = f"{kind}{self.format(record)}"
        try:
            if "tqdm" in sys.modules:  # without it there are no bars
                sys.modules["tqdm"].tqdm.write(line, file=sys.stderr)
            else:
                print(line, file=sys.stderr)
            sys.stderr.flush()
        except (OSError, ValueError):
            pass  # nobody reads standard error any more: no reason to lose a run


@contextmanager
def on_standard_error() -> Iterator[None]:
    """Print messages from INFO on, or from the level that `log` is set to meanwhile, until the block ends."""
    handler, before = StandardError(), log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


def shows_bars() -> bool:
    """Whether standard error is a terminal, and messages are printed there as they should be beside a bar."""
    printed = any(isinstance(handler, StandardError) for handler in log.handlers)
    return printed and log.isEnabledFor(logging.INFO) and sys.stderr.isatty()
