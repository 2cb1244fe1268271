"""Sample and pack windows of batches in a thread, ahead of those that are trained: from one epoch into the next.

    batches of this epoch, of later ones ──sample──▶ windows ──pack──▶ where each batch is

While an epoch's last batches are trained, and while it is evaluated, the next epoch's first window is packed. It would be waited
for otherwise, at the beginning of every epoch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

from marius_lite.config.packing import WINDOWS
from marius_lite.pipeline.batches import staged
from marius_lite.rows.ahead import PreparedEach
from marius_lite.rows.batch import PreparedBatch
from marius_lite.rows.packer import InWindow, Key, PackedWindow, Packer
from marius_lite.types import Batch, Ids


class WindowStream:
    """The windows of ``batches``, as many of them ahead as the plan has room for. ``key``: what a batch is called.

    A thread samples and packs them. It ends once the stream is closed, while no other thread is in `epoch`.
    """

    def __init__(self, packer: Packer, batches: Iterable[Batch], sample: PreparedEach, key: Callable[[Batch], Key]):
        self._packer, self._sample, self._key = packer, sample, key
        self._stop, self._room = threading.Event(), threading.Semaphore(WINDOWS)
        self._windows = staged(packer.windows(self._sampled(batches)), self._pack, 1, self._room)
        self._packed = (InWindow(window, pack) for window in self._windows if window for pack in range(len(window.batches)))
        self._after: dict[Key, Key | None] = {}
        """The first batch of the next epoch, behind the last one of each; None where none follows."""
        self._first: Key | None = None

    def begins_with(self, batch: Batch) -> bool:
        """Return whether an epoch is over, and this batch is the first one of the next."""
        return self.goes_on() and self._first == self._key(batch)

    def goes_on(self) -> bool:
        """Return whether an epoch is over, and another one follows."""
        return self._first is not None and not self._stop.is_set()

    def epoch(self) -> Iterator[InWindow]:
        """Yield the batches of the epoch that is next, each once its rows are packed. There are fewer after `end`."""
        self._first = None
        for at in self._packed:
            yield at
            if at.key in self._after:
                self._first = self._after.pop(at.key)
                return

    def done(self, window: PackedWindow) -> None:
        """Give up a window, which makes room for another one."""
        self._packer.done(window)
        self._room.release()

    def end(self) -> bool:
        """Sample and pack nothing more, and let nothing wait for room that nobody gives back any more. Returns True."""
        if not self._stop.is_set():
            self._stop.set()
            self._room.release(WINDOWS)
        return True

    def close(self) -> None:
        """Wait until the thread has ended, and give back the disk space of the windows that are not kept."""
        self.end()
        self._windows.close()
        self._packer.abandon()

    def _sampled(self, batches: Iterable[Batch]) -> Generator[tuple[Key, PreparedBatch[Any], Ids], None, None]:
        for prepared in self._sample(self._noted(batches), self._stop):
            yield self._key(prepared.batch), prepared, prepared.rows[0]

    def _noted(self, batches: Iterable[Batch]) -> Generator[Batch, None, None]:
        """Yield the batches, and note before each whether it is the last one of its epoch."""
        before: Batch | None = None
        for batch in batches:
            if before is not None:
                if batch.epoch != before.epoch:
                    self._after[self._key(before)] = self._key(batch)
                yield before
            before = batch
        if before is not None:
            self._after[self._key(before)] = None
            yield before

    def _pack(self, window: PackedWindow) -> PackedWindow | None:
        return self._packer.pack(window, self._stop)
