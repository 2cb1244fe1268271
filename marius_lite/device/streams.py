"""Streams of work on a device. A stream works in order. Only events order the work of different streams."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import torch

SPIN_SECONDS = 50e-6
"""How long a wait asks again and again before it sleeps: a thread that sleeps takes about as long to wake up."""


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
    """An event of torch, which goes back to ``free`` with this object: to make one takes longer than to record it."""

    def __init__(self, stream: torch.cuda.Stream, free: list[torch.cuda.Event]):
        self.event = free.pop() if free else torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
        self._free = free
        self.event.record(stream)

    def __del__(self) -> None:
        self._free.append(self.event)

    def wait(self) -> None:
        until = time.perf_counter() + SPIN_SECONDS
        while not self.event.query():  # type: ignore[no-untyped-call]  # which keeps the GIL
            if time.perf_counter() >= until:
                self.event.synchronize()
                return


class TorchStream:
    """A stream of torch. What is put on it takes its handle. Torch's current stream stays, because it takes a while to change."""

    def __init__(self, stream: torch.cuda.Stream):
        self._stream = stream
        self._free: list[torch.cuda.Event] = []

    @property
    def handle(self) -> int:
        return int(self._stream.cuda_stream)

    def run(self, work: Callable[[], object]) -> None:
        work()

    def record(self) -> Event:
        return CudaEvent(self._now(), self._free)

    def after(self, event: Event | None) -> None:
        if event is not None:
            assert isinstance(event, CudaEvent)
            self._now().wait_event(event.event)

    def _now(self) -> torch.cuda.Stream:
        return self._stream


class OwnStream(TorchStream):
    """A stream that is torch's current one while work is put on it."""

    def run(self, work: Callable[[], object]) -> None:
        with torch.cuda.stream(self._stream):
            work()


class CurrentStream(TorchStream):
    """What torch's current stream is when it is asked for: another one while a graph is captured."""

    def __init__(self, device: torch.device):
        super().__init__(torch.cuda.current_stream(device))
        self._device = device
        # Torch's way to a stream's object takes ten times as long, and is asked for some ten times in a batch.
        self._raw: Callable[[int], int] | None = getattr(torch._C, "_cuda_getCurrentRawStream", None)

    @property
    def handle(self) -> int:
        return self._raw(self._device.index) if self._raw else int(torch.cuda.current_stream(self._device).cuda_stream)

    def _now(self) -> torch.cuda.Stream:
        if self._stream.cuda_stream != self.handle:
            self._stream = torch.cuda.current_stream(self._device)
        return self._stream
