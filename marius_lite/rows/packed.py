"""Train on features that need not fit in memory: each batch has all the rows that it asks for, wherever they lie on disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from marius_lite.config.packing import Packing
from marius_lite.graph.features import Features
from marius_lite.graph.partitioning import Partitioning
from marius_lite.optim.schedule import Rated
from marius_lite.pipeline.batches import SAMPLE_AHEAD, Stages, Stop, staged
from marius_lite.rows.ahead import Prepare, PreparedEach, Waited, prepared_each
from marius_lite.rows.batch import Foresee, Learn, PreparedBatch
from marius_lite.rows.host import HostGather, OnHost
from marius_lite.rows.packer import InWindow, Key, Packer
from marius_lite.rows.resident import RowBuffers, RowsByNode
from marius_lite.rows.window_stream import WindowStream
from marius_lite.types import Batch, Ids

Read = tuple[PreparedBatch[Any], Ids]
"""A batch whose rows are in memory, and where each is."""


class PackedRows(RowsByNode):
    """Features that are only read. For the task and its encoder every partition is resident.

    ``folder``: where temporary files are. ``ring``, ``threads``: see `rows.host.HostGather`.
    """

    def __init__(self, stored: Features, partitioning: Partitioning, packing: Packing, folder: Path, ring: int, threads: int):
        super().__init__(RowBuffers(stored, None, None, 0), partitioning)
        self._packer, self._refresh = Packer(stored.table, packing, folder), packing.refresh
        self._together = packing.together
        self._gather = HostGather(self._packer.memory, stored.width, ring, threads, stored.type, stored.scales)
        self._waited = Waited()
        self._stream: WindowStream | None = None

    def pipeline(self, prepare: Prepare, learn: Learn, foresee: Foresee | None = None) -> Stages[Any, Read, Any, None]:
        free = threading.Semaphore(1)  # the room for the rows of one pack

        def ahead(batches: Iterable[Batch], prepare: Prepare, stop: Stop) -> Generator[tuple[Batch, Read], None, None]:
            return self._ahead(batches, prepared_each(prepare, foresee, self._together), free, stop)

        def gathered(read: Read) -> tuple[PreparedBatch[Any], OnHost]:
            prepared, places = read
            values = self._gather(places)
            free.release()
            return prepared, OnHost([values], prepared.arrays)

        def learned(gathered: tuple[PreparedBatch[Any], OnHost]) -> tuple[float, None]:
            loss, _ = learn(*gathered)
            return float(loss), None

        return Stages(prepare, gathered, learned, lambda grads: None, ahead)

    def _ahead(
        self, batches: Iterable[Batch], sample: PreparedEach, free: threading.Semaphore, asked: Stop
    ) -> Generator[tuple[Batch, Read], None, None]:
        """Yield an epoch's batches in order, each once its rows are in memory. The next window is packed meanwhile."""
        packer, kept = self._packer, dict[Key, InWindow]()
        if self._refresh > 1:
            batches = list(batches)
            kept = packer.kept(batches[0].epoch // self._refresh) if batches else {}
            stream = self._begin([batch for batch in batches if self._key(batch) not in kept], sample)
        else:
            stream = self._going_on(batches, sample)

        def in_turn() -> Generator[tuple[Batch | None, InWindow], None, None]:
            packed = stream.epoch()
            if not kept:
                yield from ((None, at) for at in packed)
                return
            for batch in batches:
                at = kept.get(self._key(batch)) or next(packed, None)
                if at is None:
                    return
                yield batch, at

        def placed(found: tuple[Batch | None, InWindow]) -> tuple[InWindow, PreparedBatch[Any], Ids, int]:
            batch, at = found
            prepared = packer.sample(at)
            if batch is not None:
                prepared = replace(prepared, batch=batch)
            return at, prepared, *packer.places(prepared.rows[0])

        def read(found: tuple[InWindow, PreparedBatch[Any], Ids, int]) -> tuple[Batch, Read]:
            at, prepared, places, rows = found
            packer.read(at, rows)
            if at.is_last and self._key(prepared.batch) not in kept:
                stream.done(at.window)
            return prepared.batch, (prepared, places)

        whole = False
        try:
            with (
                closing(staged(in_turn(), placed, SAMPLE_AHEAD)) as prepared,
                closing(staged(prepared, read, 1, free, lambda: asked() and stream.end())) as ready,
            ):
                try:
                    yield from self._waited.each(ready)
                    whole = stream.goes_on()
                finally:
                    if not whole:  # before the threads are waited for, which may wait for a window
                        stream.end()
        finally:
            if not whole:
                self._end()

    def _going_on(self, batches: Iterable[Batch], sample: PreparedEach) -> WindowStream:
        """Return the stream in which an epoch's batches come next: the one that went on from the epoch before, or a new one."""
        own = iter(batches)
        first = next(own, None)
        if first is None:
            return self._begin([], sample)
        if self._stream is not None and self._stream.begins_with(first):
            return self._stream
        return self._begin(chain([first], own, self._later()), sample)

    def _begin(self, batches: Iterable[Batch], sample: PreparedEach) -> WindowStream:
        self._end()
        self._stream = WindowStream(self._packer, batches, sample, self._key)
        return self._stream

    def _end(self) -> None:
        """Give up what is packed for later epochs."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def _key(self, batch: Batch) -> Key:
        return batch.epoch // self._refresh, batch.step, batch.index

    def rated(self) -> Sequence[Rated]:
        return []

    def cache_most_touched(self, touched: Callable[[], Ids]) -> None:
        """Do nothing: which rows stay is measured."""

    def counters(self) -> dict[str, float]:
        return {
            "bytes_read": self._packer.bytes_read,
            "bytes_written": self._packer.bytes_written,
            "wait_s": self._waited.seconds,
        }

    def close(self) -> None:
        self._end()
        self._packer.close()
