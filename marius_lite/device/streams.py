"""Streams of work on a device: each in order, several at once, ordered among each other by events alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch


class Event(Protocol):
    """A point in a stream."""

    def wait(self) -> None:
        """Return to the host once the work before this point is done."""


class Stream(Protocol):
    @property
    def handle(self) -> int:
        """The address that native calls take."""

    def run(self, work: Callable[[], object]) -> None:
        """Put what ``work`` launches behind the stream's work so far; ``work`` itself does not wait for it."""

    def record(self) -> Event:
        """The point behind all work so far."""

    def after(self, event: Event | None) -> None:
        """Work put on the stream from now on begins after ``event``."""


class CudaEvent:
    def __init__(self, stream: torch.cuda.Stream):
        self.event = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
        self.event.record(stream)

    def wait(self) -> None:
        self.event.synchronize()


class CudaStream:
    def __init__(self, stream: torch.cuda.Stream):
        self._stream = stream

    @property
    def handle(self) -> int:
        return int(self._stream.cuda_stream)

    def run(self, work: Callable[[], object]) -> None:
        with torch.cuda.stream(self._stream):
            work()

    def record(self) -> Event:
        return CudaEvent(self._stream)

    def after(self, event: Event | None) -> None:
        if event is not None:
            assert isinstance(event, CudaEvent)
            self._stream.wait_event(event.event)
