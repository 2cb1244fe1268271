"""Do several things at the same time, a few at a time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

AT_A_TIME = 4
"""Objects that are sent or fetched at the same time."""


class Pool:
    """Calls functions in a few threads. The first error comes out of `add` or `finish`; what has not begun then never does."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_A_TIME)
        self._under_way: set[Future[Any]] = set()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)

    def add(self, call: Callable[[], object]) -> None:
        """Call a function as soon as a thread is free. Waits where several others wait already."""
        while len(self._under_way) > AT_A_TIME:
            self._take()
        self._under_way.add(self._threads.submit(call))

    def finish(self) -> None:
        """Wait until all are done."""
        while self._under_way:
            self._take()

    def _take(self) -> None:
        done, self._under_way = wait(self._under_way, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()
