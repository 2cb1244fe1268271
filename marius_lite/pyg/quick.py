"""Sample in the caller's thread while that takes less time than to hand a batch from one thread to another."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import TypeVar

from marius_lite.pipeline.batches import Stop, sampled_ahead
from marius_lite.types import Batch

Drawn = TypeVar("Drawn", bound=Batch)
Sampled = TypeVar("Sampled")

QUICK_SECONDS = 0.001
"""To begin a thread, and to wait for it and for Python's lock, takes 0.1 to 0.4 ms a batch. A model trains for several ms."""


def sampled_quickly(
    batches: Iterable[Drawn], sample: Callable[[Drawn], Sampled], stop: Stop
) -> Generator[tuple[Drawn, Sampled], None, None]:
    """Yield each batch with what was sampled for it. Once two in a row were slow, the others are sampled ahead, in a thread."""
    waiting, slow, started = iter(batches), 0, time.perf_counter()
    for batch in waiting:
        sampled = sample(batch)
        slow = slow + 1 if time.perf_counter() - started > QUICK_SECONDS else 0
        yield batch, sampled
        if slow == 2:
            with closing(sampled_ahead(waiting, sample, stop)) as ahead:
                yield from ahead
            return
        started = time.perf_counter()
