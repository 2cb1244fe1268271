"""Prepare batches one after another, ahead of those that are trained, some of them together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from itertools import islice
from typing import Any

from marius_lite.rows.batch import Foresee, PreparedBatch
from marius_lite.types import Batch

Prepare = Callable[[Any], PreparedBatch[Any]]
PreparedEach = Callable[[Iterable[Batch], threading.Event], Iterable[PreparedBatch[Any]]]
"""Prepares batches one after another, until it is told to stop."""


def prepared_each(prepare: Prepare, foresee: Foresee | None, together: int) -> PreparedEach:
    """Return what prepares batches. ``foresee`` is told of so many ``together`` before they are prepared."""

    def each(batches: Iterable[Batch], stop: threading.Event) -> Generator[PreparedBatch[Any], None, None]:
        waiting = iter(batches)
        while not stop.is_set() and (some := list(islice(waiting, together))):
            if foresee is not None and together > 1:
                foresee(some)
            for batch in some:
                if stop.is_set():
                    return
                yield prepare(batch)

    return each
