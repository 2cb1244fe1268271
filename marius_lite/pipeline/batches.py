"""The way of a batch: sample ids, gather rows, learn, apply gradients.

    edge batches --sample--> SampledBatch --gather--> DeviceBatch --learn--> (loss, RowGrads) --apply--> rows in the buffer

Ids are sampled ahead in a thread; that changes nothing, since every batch has its own seed. With staleness 0 the rest runs in
the caller's thread, batch after batch: deterministic. With staleness s, gathering and applying run in threads of their own, and
a batch may be gathered while up to s earlier ones have not been applied.

On a device with streams a batch is *begun*, which waits for nothing, and ended some batches later; staleness means nothing there.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Generic, TypeVar

from marius_lite.pipeline.stage import staged
from marius_lite.types import Batch

SAMPLE_AHEAD = 2

Drawn = TypeVar("Drawn", bound=Batch)
Sampled = TypeVar("Sampled")
Gathered = TypeVar("Gathered")
Grads = TypeVar("Grads")


@dataclass(frozen=True, slots=True)
class Finished:
    """A batch whose update has landed; ``loss`` is the mean over its edges and sides, or its nodes."""

    batch: Batch
    loss: float


@dataclass(frozen=True, slots=True)
class Stages(Generic[Drawn, Sampled, Gathered, Grads]):
    """What is done to a batch, in order: ids drawn, rows gathered, loss and gradients learned, gradients applied."""

    sample: Callable[[Drawn], Sampled]
    gather: Callable[[Sampled], Gathered]
    learn: Callable[[Gathered], tuple[float, Grads]]
    apply: Callable[[Grads], object]


@dataclass(frozen=True, slots=True)
class Streamed(Generic[Drawn, Sampled]):
    """``begin`` puts a batch on the device; what it returns waits for its end and gives the loss.

    At most ``under_way`` batches are begun and not ended.
    """

    sample: Callable[[Drawn], Sampled]
    begin: Callable[[Sampled], Callable[[], float]]
    under_way: int


def run(batches: Iterable[Drawn], stages: Stages[Drawn, Sampled, Gathered, Grads] | Streamed[Drawn, Sampled], staleness: int,
        stop: Callable[[], bool]) -> Generator[Finished, None, None]:
    """Yield each batch once it is finished, in order. After ``stop()`` no batch is begun, those begun are finished."""
    with closing(staged(batches, lambda batch: (batch, stages.sample(batch)), SAMPLE_AHEAD)) as sampled:
        if isinstance(stages, Streamed):
            yield from _streamed(sampled, stages, stop)
        elif staleness == 0:
            yield from _synchronous(sampled, stages, stop)
        else:
            yield from _overlapped(sampled, stages, staleness, stop)


def _synchronous(sampled: Iterable[tuple[Drawn, Sampled]], stages: Stages[Drawn, Sampled, Gathered, Grads],
                 stop: Callable[[], bool]) -> Generator[Finished, None, None]:
    for batch, ids in sampled:
        loss, grads = stages.learn(stages.gather(ids))
        stages.apply(grads)
        yield Finished(batch, loss)
        if stop():
            return


def _streamed(sampled: Iterable[tuple[Drawn, Sampled]], stages: Streamed[Drawn, Sampled],
              stop: Callable[[], bool]) -> Generator[Finished, None, None]:
    begun: deque[tuple[Drawn, Callable[[], float]]] = deque()
    for batch, ids in sampled:
        begun.append((batch, stages.begin(ids)))
        if len(begun) == stages.under_way:
            yield _ended(begun)
        if stop():
            break
    while begun:
        yield _ended(begun)


def _ended(begun: deque[tuple[Drawn, Callable[[], float]]]) -> Finished:
    batch, end = begun.popleft()
    return Finished(batch, end())


def _overlapped(sampled: Iterable[tuple[Drawn, Sampled]], stages: Stages[Drawn, Sampled, Gathered, Grads], staleness: int,
                stop: Callable[[], bool]) -> Generator[Finished, None, None]:
    permits = threading.Semaphore(staleness + 1)
    waiting: deque[tuple[Finished, Future[None]]] = deque()

    def gather(pair: tuple[Drawn, Sampled]) -> tuple[Drawn, Gathered]:
        return pair[0], stages.gather(pair[1])

    def apply(grads: Grads) -> None:
        stages.apply(grads)
        permits.release()

    with (ThreadPoolExecutor(1, thread_name_prefix="apply") as applier,
          closing(staged(sampled, gather, staleness, permits)) as gathered):
        for batch, rows in gathered:
            loss, grads = stages.learn(rows)
            waiting.append((Finished(batch, loss), applier.submit(apply, grads)))
            while waiting and (waiting[0][1].done() or len(waiting) > staleness):
                yield _landed(waiting)
            if stop():
                break
        while waiting:
            yield _landed(waiting)


def _landed(waiting: deque[tuple[Finished, Future[None]]]) -> Finished:
    finished, future = waiting.popleft()
    future.result()
    return finished
