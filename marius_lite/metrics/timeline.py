"""Note when a run did what: its lines of kind ``timeline`` in metrics.jsonl, of which reports and traces are drawn."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from marius_lite.storage.buffer import PastTransfer

Doing = Literal["step", "wait", "checkpoint", "evaluation"]
SHORTEST = 1e-3
"""Seconds below which something is not noted."""
MOST = 1000
"""Spans of a kind that a line has, at most: the first ones."""


class Timeline:
    """Collects spans of time, in seconds since ``started``, which is the Unix time of this process's first batch."""

    def __init__(self) -> None:
        self._zero, self._started = time.perf_counter(), time.time()
        self._spans: dict[str, list[tuple[float, float]]] = {}

    @contextmanager
    def during(self, what: Doing) -> Iterator[None]:
        """Note how long the block took."""
        begin = time.perf_counter()
        yield
        self.add(what, begin)

    def add(self, what: Doing, begin: float) -> None:
        """Note what was done from ``begin`` (of `time.perf_counter`) until now."""
        spans, now = self._spans.setdefault(what, []), time.perf_counter()
        if now - begin >= SHORTEST and len(spans) < MOST:
            spans.append((self._since(begin), self._since(now)))

    def take(self, transfers: Iterable[PastTransfer]) -> dict[str, Any]:
        """Return all that was noted since the last call, ready for JSON, with the partitions that were loaded and written."""
        taken: dict[str, Any] = {name: spans for name, spans in self._spans.items() if spans}
        self._spans = {}
        for each in transfers:
            span = each.partition, self._since(each.begin), self._since(each.end)
            taken.setdefault("write" if each.is_write else "load", []).append(span)
        return {"started": round(self._started, 3), **taken}

    def _since(self, moment: float) -> float:
        return round(moment - self._zero, 4)
