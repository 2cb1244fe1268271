"""A device that is this processor: the native kernels' bodies run on the host, streams run late and in any legal order.

What is put on a stream waits until somebody waits for an event behind it; then pieces of work are taken from the streams in
a random order that respects nothing but each stream's own order and the events. A missing event shows as a wrong result.
"""

from __future__ import annotations

import mmap
import random
from collections import deque
from pathlib import Path

import torch

from marius_lite.device.accelerator import Accelerator


class Event:
    def __init__(self, schedule, stream):
        self.schedule, self.stream, self.done = schedule, stream, False

    def wait(self):
        self.schedule.until(self)


class Stream:
    handle = 0

    def __init__(self, schedule, name):
        self.schedule, self.name, self.queue = schedule, name, deque()

    def run(self, work):
        self._put("run", work)

    def record(self):
        event = Event(self.schedule, self)
        self._put("record", event)
        return event

    def after(self, event):
        if event is not None:
            self._put("after", event)

    def _put(self, kind, what):
        self.schedule.put += 1
        self.queue.append((kind, what, self.schedule.put))


class Schedule:
    """Three streams and the random order in which their work is done; ``trace`` tells what was done."""

    def __init__(self, seed):
        self.random, self.put = random.Random(seed), 0
        self.streams = {name: Stream(self, name) for name in ("gathering", "computing", "scattering")}
        self.trace = []

    def choose(self, ready):
        return self.random.choice(ready)

    def until(self, event):
        while not event.done:
            ready = [s for s in self.streams.values() if s.queue and (s.queue[0][0] != "after" or s.queue[0][1].done)]
            assert ready, "every stream waits for another"
            stream = self.choose(ready)
            kind, what, _ = stream.queue.popleft()
            self.trace.append((stream.name, kind, what))
            if kind == "run":
                what()
            elif kind == "record":
                what.done = True


class Emulated(Accelerator):
    def host_bytes(self, size):
        """Memory of its own, as pinned memory is: no tensor that computing has given back, which a trace would take for it."""
        return torch.frombuffer(mmap.mmap(-1, max(1, size)), dtype=torch.uint8)[:size]


def capture(work, generators):
    """Stands for a graph: what repeats the work runs it again, and its results go to where the first ones were."""
    loss, grads = work()

    def repeat():
        again, more = work()
        for old, new in zip((loss, *grads), (again, *more), strict=True):
            old.copy_(new)

    return (loss, grads), repeat


def accelerator(library, seed=0, recurring=False):
    """``recurring``: see `Accelerator`. Padded batches have other bits than those of a run on the processor."""
    schedule, apart = Schedule(seed), Schedule(seed)  # neighbours are sampled in another thread
    streams = {**schedule.streams, "sampling": apart.streams["gathering"]}
    return Emulated(torch.device("cpu"), library, **streams, capture=capture, pinned=False, recurring=recurring), schedule


SOURCES = Path(__file__).parents[2] / "csrc"
