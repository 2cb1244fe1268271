"""Train on learned rows that need not fit in memory: each batch has all the rows that it asks for, wherever they lie on disk.

A window of batches is sampled ahead, so that the rows of each are known. The samples wait in a temporary file. Before a window is
trained, its rows come into a pool (`rows.pool`), where its batches change them one after another. So a batch finds what the one
before it left, whatever window they are in, and a run has the bits of one with everything in memory.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marius_lite.pipeline.batches import SAMPLE_AHEAD, Stages, Stop, staged
from marius_lite.rows.ahead import Prepare, PreparedEach, Waited, prepared_each
from marius_lite.rows.batch import Foresee, Learn, PreparedBatch
from marius_lite.rows.host import HostRows, HostRowUpdater, OnHost
from marius_lite.rows.pool import RowPool
from marius_lite.rows.resident import RowsByNode
from marius_lite.storage.packs import Kept, KeptObjects
from marius_lite.types import Batch, Ids, RowGrads, Rows

FIRST = 2
"""Batches of the first window where every node has a place. Each later one has twice as many, so that passes are few."""


@dataclass(slots=True, eq=False)
class PooledWindow:
    """Batches, in order, as they were sampled. ``nodes``: whose rows they take, distinct and ascending, once all are known."""

    number: int
    samples: KeptObjects
    batches: list[Kept] = field(default_factory=list)
    nodes: Ids = field(default_factory=lambda: np.empty(0, np.int64))


class InPool(NamedTuple):
    """A batch whose rows are in the pool. ``prepared.rows``: their places. ``ends``: whether it is the last one of its window."""

    prepared: PreparedBatch[Any]
    ends: bool


class PooledRows(RowsByNode, HostRows):
    """Learned rows, and features beside them, in a pool. For the task and its encoder every partition is resident.

    ``folder``: where temporary files are. The others: see `rows.host.HostRows`.
    """

    def __init__(self, pool: RowPool, folder: Path, updater: HostRowUpdater, ring: int, threads: int, seed: int):
        super().__init__(pool.buffers, pool.partitioning, updater, ring, threads, seed, pool.memory)
        self._pool, self._folder, self._together = pool, folder, pool.pooling.together
        self._asked_by = np.full(pool.partitioning.nodes, -1, np.int32)  # the last window that a node's row was asked for by
        self._windows, self._samples, self._waited = 0, 0, Waited()

    def pipeline(self, prepare: Prepare, learn: Learn, foresee: Foresee | None = None) -> Stages[Any, InPool, Any, Any]:
        room = threading.Semaphore(1)  # for one window: the next one comes when all batches of the last one have ended
        each = prepared_each(prepare, foresee, self._together)

        def gathered(placed: InPool) -> tuple[InPool, OnHost]:
            return placed, self._gather(placed.prepared)[1]

        def learned(given: tuple[InPool, OnHost]) -> tuple[float, tuple[RowGrads, bool]]:
            placed, arrived = given
            loss, grads = self._learned(learn, placed.prepared, arrived)
            return loss, (grads, placed.ends)

        def applied(given: tuple[RowGrads, bool]) -> None:
            grads, ends = given
            self._apply(grads)
            for places in grads.rows:
                self._pool.changed(places)
            if ends:
                room.release()

        return Stages(prepare, gathered, learned, applied, lambda batches, _, asked: self._ahead(batches, each, room, asked))

    def _ahead(
        self, batches: Iterable[Batch], prepared: PreparedEach, room: threading.Semaphore, asked: Stop
    ) -> Generator[tuple[Batch, InPool], None, None]:
        """Yield batches in order, each once its rows are in the pool. Those of the next window are sampled meanwhile."""
        stop, opened = threading.Event(), list[PooledWindow]()

        def ends() -> bool:
            """End all stages: who closes one waits for its thread. None may wait for room that nobody gives back any more."""
            if not stop.is_set():
                stop.set()
                room.release()
            return True

        def brought(window: PooledWindow) -> PooledWindow | None:
            if stop.is_set():  # there is room only because all end: batches may still use rows
                return None
            return window if self._pool.bring(window.nodes, stop) else None

        def in_turn(windows: Iterable[PooledWindow | None]) -> Generator[tuple[PooledWindow, int], None, None]:
            for window in windows:
                if window is None:
                    return
                yield from ((window, at) for at in range(len(window.batches)))

        def placed(at: tuple[PooledWindow, int]) -> tuple[Batch, InPool]:
            window, number = at
            batch: PreparedBatch[Any] = window.samples.read(window.batches[number])
            self._samples += window.batches[number].size
            ends = number == len(window.batches) - 1
            if ends:
                window.samples.close()
                opened.remove(window)
            places = self._pool.places(batch.rows[-1])
            return batch.batch, InPool(replace(batch, rows=[places] * len(batch.rows)), ends)

        with (
            ExitStack() as stack,
            closing(staged(self._sampled(prepared(batches, stop), opened), brought, 1, room)) as windows,
            closing(staged(in_turn(windows), placed, SAMPLE_AHEAD, stop=lambda: asked() and ends())) as ready,
        ):
            stack.callback(_close, opened)  # once the threads below have ended
            try:
                yield from self._waited.each(ready)
            finally:
                ends()

    def _sampled(self, prepared: Iterable[PreparedBatch[Any]], opened: list[PooledWindow]) -> Generator[PooledWindow, None, None]:
        """Group sampled batches into windows whose rows fit the pool as planned. Samples of the ``opened`` ones are on disk.

        Where every node has a place, windows could be endless. The first one is small then, trained while the next is sampled.
        """
        window, plan, marks = self._begun(opened), self._pool.pooling, self._asked_by
        most = FIRST if plan.whole else None
        new_of: list[Ids] = []
        rows = 0
        for batch in prepared:
            nodes = batch.rows[-1]
            new = nodes[marks[nodes] != window.number]
            full = rows + len(new) > plan.rows or window.samples.size + plan.sample_bytes > plan.samples
            if window.batches and (full or len(window.batches) == most):
                yield _whole(window, new_of)
                most = most and 2 * most
                window, new_of, rows, new = self._begun(opened), [], 0, nodes
            marks[new] = window.number
            new_of.append(new)
            rows += len(new)
            window.batches.append(window.samples.keep(batch))
        if window.batches:
            yield _whole(window, new_of)

    def _begun(self, opened: list[PooledWindow]) -> PooledWindow:
        self._windows += 1
        opened.append(PooledWindow(self._windows, KeptObjects(self._folder)))
        return opened[-1]

    def _node_of(self, places: Rows) -> Ids:
        return self._pool.nodes_at(places)

    def each_table(self, rows: Ids, nodes: Ids) -> list[Ids]:
        return [nodes] * len(self.buffers.all)

    def mark_changed(self) -> None:
        """Do nothing: what batches change is noted batch by batch."""

    def flush(self) -> dict[int, int]:
        return self._pool.flush()

    def counters(self) -> dict[str, float]:
        """Return what the buffers read and wrote, and the samples; and how long batches waited, which is for both."""
        counted = super().counters()
        moved = {key: counted[key] + self._samples for key in ("bytes_read", "bytes_written")}
        return {**counted, **moved, "wait_s": self._waited.seconds}


def _close(opened: list[PooledWindow]) -> None:
    for window in opened:
        window.samples.close()


def _whole(window: PooledWindow, new_of: list[Ids]) -> PooledWindow:
    """Return the window, whose batches have these nodes that none before them in it had."""
    window.nodes = np.unique(np.concatenate(new_of))
    return window
