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


class CudaStream:
    """A stream of its own, which is torch's current one while work is put on it."""

    def __init__(self, stream: torch.cuda.Stream):
        self._stream, self.handle = stream, int(stream.cuda_stream)

    def run(self, work: Callable[[], object]) -> None:
        with torch.cuda.stream(self._stream):
            work()

    def record(self) -> Event:
        return CudaEvent(self._stream)

    def after(self, event: Event | None) -> None:
        if event is not None:
            assert isinstance(event, CudaEvent)
            self._stream.wait_event(event.event)


class CopyStream(CudaStream):
    """A stream for native calls alone, which take its handle. So torch's current one stays, which takes a while to change."""

    def run(self, work: Callable[[], object]) -> None:
        work()


class TorchStream:
    """The stream that is torch's current one in the calling thread: another one while a graph is captured."""

    def __init__(self, device: torch.device):
        self._device = device

    @property
    def handle(self) -> int:
        return int(self._stream.cuda_stream)

    def run(self, work: Callable[[], object]) -> None:
        work()

    def record(self) -> Event:
        return CudaEvent(self._stream)

    def after(self, event: Event | None) -> None:
        if event is not None:
            assert isinstance(event, CudaEvent)
            self._stream.wait_event(event.event)

    @property
    def _stream(self) -> torch.cuda.Stream:
        return torch.cuda.current_stream(self._device)
