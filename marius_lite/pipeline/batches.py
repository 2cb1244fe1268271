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
from marius_lite.types import DeviceBatch, EdgeBatch, RowGrads, SampledBatch

SAMPLE_AHEAD = 2

Sampled = TypeVar("Sampled")


@dataclass(frozen=True, slots=True)
class Finished:
    """A batch whose update has landed; ``loss`` is the mean over its edges and sides."""

    edges: EdgeBatch
    loss: float


@dataclass(frozen=True, slots=True)
class Stages:
    sample: Callable[[EdgeBatch], SampledBatch]
    gather: Callable[[SampledBatch], DeviceBatch]
    learn: Callable[[DeviceBatch], tuple[float, RowGrads]]
    apply: Callable[[RowGrads], object]


@dataclass(frozen=True, slots=True)
class Streamed(Generic[Sampled]):
    """``begin`` puts a batch on the device; what it returns waits for its end and gives the loss.

    At most ``under_way`` batches are begun and not ended.
    """

    sample: Callable[[EdgeBatch], Sampled]
    edges: Callable[[Sampled], EdgeBatch]
    begin: Callable[[Sampled], Callable[[], float]]
    under_way: int


def run(batches: Iterable[EdgeBatch], stages: Stages | Streamed[Sampled], staleness: int,
        stop: Callable[[], bool]) -> Generator[Finished, None, None]:
    """Yield each batch once it is finished, in order. After ``stop()`` no batch is begun, those begun are finished."""
    if isinstance(stages, Streamed):
        yield from _streamed(batches, stages, stop)
        return
    with closing(staged(batches, stages.sample, SAMPLE_AHEAD)) as sampled:
        if staleness == 0:
            yield from _synchronous(sampled, stages, stop)
        else:
            yield from _overlapped(sampled, stages, staleness, stop)


def _synchronous(sampled: Iterable[SampledBatch], stages: Stages,
                 stop: Callable[[], bool]) -> Generator[Finished, None, None]:
    for batch in sampled:
        loss, grads = stages.learn(stages.gather(batch))
        stages.apply(grads)
        yield Finished(batch.edges, loss)
        if stop():
            return


def _streamed(batches: Iterable[EdgeBatch], stages: Streamed[Sampled],
              stop: Callable[[], bool]) -> Generator[Finished, None, None]:
    begun: deque[tuple[EdgeBatch, Callable[[], float]]] = deque()
    with closing(staged(batches, stages.sample, SAMPLE_AHEAD)) as sampled:
        for batch in sampled:
            begun.append((stages.edges(batch), stages.begin(batch)))
            if len(begun) == stages.under_way:
                yield _ended(begun)
            if stop():
                break
        while begun:
            yield _ended(begun)


def _ended(begun: deque[tuple[EdgeBatch, Callable[[], float]]]) -> Finished:
    edges, end = begun.popleft()
    return Finished(edges, end())


def _overlapped(sampled: Iterable[SampledBatch], stages: Stages, staleness: int,
                stop: Callable[[], bool]) -> Generator[Finished, None, None]:
    permits = threading.Semaphore(staleness + 1)
    waiting: deque[tuple[Finished, Future[None]]] = deque()

    def apply(grads: RowGrads) -> None:
        stages.apply(grads)
        permits.release()

    with (ThreadPoolExecutor(1, thread_name_prefix="apply") as applier,
          closing(staged(sampled, stages.gather, staleness, permits)) as gathered):
        for batch in gathered:
            loss, grads = stages.learn(batch)
            waiting.append((Finished(batch.sampled.edges, loss), applier.submit(apply, grads)))
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
