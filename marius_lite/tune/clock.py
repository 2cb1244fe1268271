"""The time that a search has taken, over all its interruptions."""

from __future__ import annotations

import json
import time
from pathlib import Path

from marius_lite import files

CLOCK = "clock.json"
EVERY = 5.0
"""Seconds between two notes on disk: so much is lost by a kill."""


class Clock:
    """Counts the seconds of a search. ``limit``: how many there are, None without end."""

    def __init__(self, folder: Path, limit: float | None):
        self._path, self.limit = folder / CLOCK, limit
        try:
            self._before = float(files.read_json(self._path)["spent"])
        except (OSError, ValueError, KeyError, TypeError):
            self._before = 0.0
        self._start = self._noted = time.monotonic()

    def spent(self) -> float:
        """Return the seconds so far. Notes them now and then."""
        now = time.monotonic()
        spent = self._before + now - self._start
        if now - self._noted > EVERY:
            self._noted = now
            files.write_atomic(self._path, json.dumps({"spent": round(spent, 1)}).encode())
        return spent

    def left(self, share: float) -> float:
        """Return the seconds until a share of the time is over; infinity where there is no limit."""
        return float("inf") if self.limit is None else self.limit * share - self.spent()
