"""Show the progress of a long pass over bytes, edges or rows."""

from __future__ import annotations

import sys
from io import StringIO
from typing import Any

from tqdm import tqdm

from marius_lite.log import bars, log, shows_bars

EVERY = 30.0
"""Seconds between two lines where there is no terminal. A shorter pass writes no line."""


class Lines(StringIO):
    """A stream that passes what tqdm draws to the logger, line by line."""

    def write(self, text: str, /) -> int:
        if line := text.strip():
            log.info(line)
        return len(text)


def progress_bar(name: str, unit: str, total: int | None = None) -> tqdm[Any]:
    """Return a bar on standard error where `shows_bars`. Otherwise, as under nohup, Slurm or Docker, it logs a line each half
    minute."""
    if shows_bars():
        where: dict[str, Any] = {"mininterval": 0.5, "file": sys.stderr}
    else:
        known = " of {total_fmt} ({percentage:.0f}%), {remaining} left" if total else ""
        said = f"{{desc}}: {{n_fmt}}{known}, {{rate_fmt}}{{postfix}}"
        where = {"mininterval": EVERY, "delay": EVERY, "file": Lines(), "bar_format": said}
    bar: tqdm[Any] = bars()(total=total, unit=unit, unit_scale=True, desc=name, **where)
    return bar
