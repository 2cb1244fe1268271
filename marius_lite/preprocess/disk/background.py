"""One thing done while another goes on: files written behind, blocks read ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")


class WriteBehind:
    """Calls made by another thread, in order, at most one waiting; what one raises is raised by the next or by `close`."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="write")
        self._last: Future[Any] | None = None

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.wait()
        self._last = self._pool.submit(function, *arguments)

    def wait(self) -> None:
        """Until everything is done."""
        last, self._last = self._last, None
        if last is not None:
            last.result()

    def close(self) -> None:
        try:
            self.wait()
        finally:
            self._pool.shutdown()


def read_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items; while one is used, the next is made by another thread."""
    end = object()
    with ThreadPoolExecutor(1, thread_name_prefix="read") as pool:
        coming: Future[Any] = pool.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, items, end)
            yield item
