"""Prepare batches one after another, ahead of those that are trained, some of them together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from marius_lite.rows.batch import Foresee, PreparedBatch
from marius_lite.types import Batch

Item = TypeVar("Item")
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


class Waited:
    """The ``seconds`` that were waited so far for what is made ahead."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def each(self, made: Iterator[Item]) -> Iterator[Item]:
        """Yield what is ``made``, and count how long each is waited for."""
        while True:
            start = time.perf_counter()
            try:
                item = next(made)
            except StopIteration:
                return
            finally:
                self.seconds += time.perf_counter() - start
            yield item
