"""Run batches through their stages: sample ids, gather rows, learn, apply gradients.

    batch --sample--> ids --gather--> rows --learn--> (loss, gradients) --apply--> rows in the buffer

Ids are sampled ahead, in a thread. This changes no result, because every batch has a seed of its own. With staleness 0 the
caller's thread does the rest, batch after batch, so that runs are deterministic. With staleness s, rows are gathered and
gradients applied in threads of their own, and a batch may be gathered while up to s earlier ones have not been applied.

On a device with streams a batch is *begun*, without waiting, and ends some batches later. Staleness does not matter there.

`staged` and `spread` are one stage of a pipeline by itself. They call a function in threads of their own, so many results ahead.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

from marius_lite.types import Batch

T = TypeVar("T")
U = TypeVar("U")

POLL_SECONDS = 0.1
SAMPLE_AHEAD = 2
"""Batches whose ids are sampled ahead, at most."""

TRACK_AHEAD = 1
"""The same where two threads prepare batches, for each of them."""

Drawn = TypeVar("Drawn", bound=Batch)
Sampled = TypeVar("Sampled")
Tracked = TypeVar("Tracked")
Gathered = TypeVar("Gathered")
Grads = TypeVar("Grads")


@dataclass(frozen=True, slots=True)
class Finished:
    """A batch whose update has been applied. ``loss`` is the mean over its edges and sides, or over its nodes."""

    batch: Batch
    loss: float


Stop = Callable[[], bool]


def sampled_ahead(
    batches: Iterable[Drawn], sample: Callable[[Drawn], Sampled], stop: Stop
) -> Generator[tuple[Drawn, Sampled], None, None]:
    """Yield each batch with its ids, which are sampled ahead in a thread."""
    return staged(batches, lambda batch: (batch, sample(batch)), SAMPLE_AHEAD)


@dataclass(frozen=True, slots=True)
class Stages(Generic[Drawn, Sampled, Gathered, Grads]):
    """The stages of a batch, in order: sample ids, gather rows, compute loss and gradients, apply gradients.

    ``ahead``: yields each batch, in order, with what is to be gathered. It calls the first function for ids. It may end early
    once ``stop()`` is true.
    """

    sample: Callable[[Drawn], Any]
    gather: Callable[[Sampled], Gathered]
    learn: Callable[[Gathered], tuple[float, Grads]]
    apply: Callable[[Grads], object]
    ahead: Callable[[Iterable[Drawn], Callable[[Drawn], Any], Stop], Generator[tuple[Drawn, Sampled], None, None]] = sampled_ahead


@dataclass(frozen=True, slots=True)
class Streamed(Generic[Drawn, Sampled, Tracked]):
    """The stages of a batch on a device: ``sample`` ids, ``track`` them from batch to batch, then ``begin`` the batch there.

    The first two run ahead, each in a thread, unless ``in_turn``: then all three run in the caller's, which is faster where they
    take so little time that threads would wait for each other, and for Python's lock, instead. ``begin`` is given up to
    ``together`` batches. It returns a function that waits for them to end and returns their losses. At most ``under_way`` such
    groups have begun and not ended. ``at_once``: how many batches are sampled at the same time, each by a thread.
    """

    sample: Callable[[Drawn], Sampled]
    track: Callable[[Sampled], Tracked]
    begin: Callable[[Sequence[Tracked]], Callable[[], Sequence[float]]]
    under_way: int
    in_turn: bool = False
    at_once: int = 1
    together: int = 1


def run(
    batches: Iterable[Drawn],
    stages: Stages[Drawn, Sampled, Gathered, Grads] | Streamed[Drawn, Sampled, Any],
    staleness: int,
    stop: Stop,
    at_once: Stop = lambda: False,
) -> Generator[Finished, None, None]:
    """Yield each batch once it is finished, in order. Once ``stop()`` is true no batch begins; those under way end.

    At least one batch ends, unless ``at_once()`` is true: then none is waited for that is not there yet.
    """
    if isinstance(stages, Streamed):
        yield from _streamed(batches, stages, stop, at_once)
        return
    with closing(stages.ahead(batches, stages.sample, at_once)) as sampled:
        if staleness == 0:
            yield from _synchronous(sampled, stages, stop)
        else:
            yield from _overlapped(sampled, stages, staleness, stop)


def _synchronous(
    sampled: Iterable[tuple[Drawn, Sampled]], stages: Stages[Drawn, Sampled, Gathered, Grads], stop: Callable[[], bool]
) -> Generator[Finished, None, None]:
    for batch, ids in sampled:
        loss, grads = stages.learn(stages.gather(ids))
        stages.apply(grads)
        yield Finished(batch, loss)
        if stop():
            return


def _streamed(
    batches: Iterable[Drawn], stages: Streamed[Drawn, Sampled, Any], stop: Stop, at_once: Stop
) -> Generator[Finished, None, None]:
    begun: deque[tuple[Sequence[Drawn], Callable[[], Sequence[float]]]] = deque()
    with closing(_tracked(batches, stages, at_once)) as tracked:
        while group := list(islice(tracked, stages.together)):
            begun.append(([batch for batch, _ in group], stages.begin([ids for _, ids in group])))
            if len(begun) == stages.under_way:
                yield from _ended(begun)
            if stop():
                break
    while begun:
        yield from _ended(begun)


def _tracked(
    batches: Iterable[Drawn], stages: Streamed[Drawn, Sampled, Tracked], at_once: Stop
) -> Generator[tuple[Drawn, Tracked], None, None]:
    """Yield each batch with what is to be begun of it."""
    if stages.in_turn:
        for batch in batches:
            yield batch, stages.track(stages.sample(batch))
        return

    def sample(batch: Drawn) -> tuple[Drawn, Sampled]:
        return batch, stages.sample(batch)

    several = stages.at_once > 1
    drawn = spread(batches, sample, stages.at_once, at_once) if several else staged(batches, sample, TRACK_AHEAD, stop=at_once)
    with closing(drawn) as sampled:
        yield from staged(sampled, lambda pair: (pair[0], stages.track(pair[1])), TRACK_AHEAD, stop=at_once)


def _ended(begun: deque[tuple[Sequence[Drawn], Callable[[], Sequence[float]]]]) -> Iterator[Finished]:
    batches, end = begun.popleft()
    return map(Finished, batches, end())


def _overlapped(
    sampled: Iterable[tuple[Drawn, Sampled]],
    stages: Stages[Drawn, Sampled, Gathered, Grads],
    staleness: int,
    stop: Callable[[], bool],
) -> Generator[Finished, None, None]:
    permits = threading.Semaphore(staleness + 1)
    applying: deque[tuple[Finished, Future[None]]] = deque()

    def gather(pair: tuple[Drawn, Sampled]) -> tuple[Drawn, Gathered]:
        return pair[0], stages.gather(pair[1])

    def apply(grads: Grads) -> None:
        stages.apply(grads)
        permits.release()

    with (
        ThreadPoolExecutor(1, thread_name_prefix="apply") as applier,
        closing(staged(sampled, gather, staleness, permits)) as gathered,
    ):
        for batch, rows in gathered:
            loss, grads = stages.learn(rows)
            applying.append((Finished(batch, loss), applier.submit(apply, grads)))
            while applying and (applying[0][1].done() or len(applying) > staleness):
                yield _applied(applying)
            if stop():
                break
        while applying:
            yield _applied(applying)


def _applied(applying: deque[tuple[Finished, Future[None]]]) -> Finished:
    finished, future = applying.popleft()
    future.result()
    return finished


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
