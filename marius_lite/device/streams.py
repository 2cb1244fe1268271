"""Streams of work on a device. A stream works in order. Only events order the work of different streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch


class Event(Protocol):
    """A point in the work of a stream."""

    def wait(self) -> None:
        """Wait until the work before this point is done."""


class Stream(Protocol):
    """Work that a device does in order."""

    @property
    def handle(self) -> int:
        """The stream's address, as native calls take it."""

    def run(self, work: Callable[[], object]) -> None:
        """Call ``work``. What it launches follows the stream's work so far; the call does not wait for it."""

    def record(self) -> Event:
        """The point after all work so far."""

    def after(self, event: Event | None) -> None:
        """Let work that is put on the stream from now on wait for ``event``."""


class CudaEvent:
    def __init__(self, stream: torch.cuda.Stream):
        self.event = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
        self.event.record(stream)

    def wait(self) -> None:
        if not self.event.query():  # type: ignore[no-untyped-call]  # which keeps the GIL
            self.event.synchronize()


class TorchStream:
    """The stream of torch that ``find`` gives. What is put on it takes its handle, or it is torch's current stream anyway.

    Torch's current stream is left as it is, because it takes a while to change.
    """

    def __init__(self, find: Callable[[], torch.cuda.Stream]):
        self._find = find

    @property
    def handle(self) -> int:
        return int(self._find().cuda_stream)

    def run(self, work: Callable[[], object]) -> None:
        work()

    def record(self) -> Event:
        return CudaEvent(self._find())

    def after(self, event: Event | None) -> None:
        if event is not None:
            assert isinstance(event, CudaEvent)
            self._find().wait_event(event.event)


class CudaStream(TorchStream):
    """A stream that is torch's current one while work is put on it."""

    def run(self, work: Callable[[], object]) -> None:
        with torch.cuda.stream(self._find()):
            work()
