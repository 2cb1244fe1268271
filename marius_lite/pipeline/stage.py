"""One stage of a pipeline: call a function in threads of its own, a bounded number of results ahead."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")
U = TypeVar("U")

POLL_SECONDS = 0.1


def spread(
    items: Iterable[T], function: Callable[[T], U], threads: int, stop: Callable[[], bool] = lambda: False
) -> Generator[U, None, None]:
    """Yield ``function`` of each item, in order, which so many threads call at the same time, each for another item.

    It is at most one item a thread ahead. Else it does as `staged`.
    """
    source, more = iter(items), True
    waiting: deque[Future[U]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="stage") as pool:
        try:
            while True:
                while more and len(waiting) < threads:
                    try:
                        waiting.append(pool.submit(function, next(source)))
                    except StopIteration:
                        more = False
                    except Exception as error:  # it comes behind the results before it
                        more = False
                        waiting.append(_raising(error))
                if not waiting:
                    return
                while not waiting[0].done():
                    if stop():
                        return
                    wait([waiting[0]], POLL_SECONDS)
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _raising(error: Exception) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


class _Failed:
    def __init__(self, error: BaseException):
        self.error = error


_END = object()


def staged(
    items: Iterable[T],
    function: Callable[[T], U],
    ahead: int,
    permits: threading.Semaphore | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Generator[U, None, None]:
    """Yield ``function`` of each item, in order. Results are computed ahead, at most ``ahead`` of them.

    Once ``stop()`` is true, no result is waited for.
    ``permits``, where given, is acquired before each call; who uses the result releases it. An error of ``function`` or
    ``items`` is raised where its result would be yielded. Closing the generator ends the thread.
    """
    results: queue.Queue[object] = queue.Queue(max(1, ahead))
    closing = threading.Event()

    def put(result: object) -> bool:
        while not closing.is_set():
            try:
                results.put(result, timeout=POLL_SECONDS)
                return True
            except queue.Full:
                continue
        return False

    def permitted() -> bool:
        while permits is not None and not permits.acquire(timeout=POLL_SECONDS):
            if closing.is_set():
                return False
        return not closing.is_set()

    def work() -> None:
        try:
            for item in items:
                if not permitted() or not put(function(item)):
                    return
            put(_END)
        except BaseException as error:
            put(_Failed(error))

    def next_result() -> object:
        while not stop():
            with suppress(queue.Empty):
                return results.get(timeout=POLL_SECONDS)
        return _END

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while (result := next_result()) is not _END:
            if isinstance(result, _Failed):
                raise result.error
            yield result  # type: ignore[misc]
    finally:
        closing.set()
        thread.join()
