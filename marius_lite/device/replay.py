"""Repeat on a device what it did for one batch, on the numbers of others: one call of the host in place of some hundred.

What a batch puts on the device is the same for all batches that are *alike*: of equal shapes, with equal learning rates. So the
work of one is captured as a CUDA graph. It reads the numbers of a batch where they are copied to before it is launched.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import torch

from marius_lite.device.accelerator import Accelerator
from marius_lite.device.arrived import ArrivedBatch, Learned
from marius_lite.device.packet import Sent, with_room
from marius_lite.device.rows import TablePart
from marius_lite.log import log

SEEN = 8
"""Batches that are alike before their work is captured, which takes as long as some batches. The first ones also make memory, and
handles of libraries."""
LEAST, MOST = 2, 32
"""Graphs that are kept whatever memory they take, as the batches of a window have one of two sizes; and graphs that are kept at
most, as old ones are of no use where learning rates change from window to window."""
NOTED = 256
"""Kinds of batches that are counted before they are captured."""

Parts = Sequence[TablePart]
Arrays = Mapping[str, Sent]


@dataclass(frozen=True)
class Repeated:
    """The work of a batch on a device, where it can be repeated.

    ``alike``: equal for batches whose work is the same but for the numbers that arrive with them. ``seed``: seeds what the batch
    draws, from ``generators``. ``learn``: puts the work on the computing stream. ``repeated``: does what the host does of
    ``learn`` where the device repeats it (1), or takes that back (-1).
    """

    alike: Hashable
    seed: Callable[[], None]
    learn: Callable[[ArrivedBatch], Learned]
    repeated: Callable[[int], None]
    generators: Sequence[torch.Generator]


class GraphInputs:
    """Memory where graphs read what arrives with a batch: its rows' values, table after table, and its arrays.

    All graphs have it in common, because one works at a time.
    """

    def __init__(self, device: torch.device):
        self._device = device
        self._values: list[torch.Tensor] = []
        self._arrays = torch.empty(0, dtype=torch.uint8, device=device)

    def reserve(self, parts: Parts, size: int) -> bool:
        """Have room for parts and arrays of ``size`` bytes; true if some of it is new memory, which graphs so far do not read."""
        needed = [prod(part.shape) for part in parts]
        if size <= len(self._arrays) and len(needed) == len(self._values) and all(map(fits, needed, self._values)):
            return False
        self._values = [torch.zeros(with_room(each), device=self._device) for each in needed]
        self._arrays = torch.empty(with_room(size), dtype=torch.uint8, device=self._device)
        return True

    def values(self, parts: Parts) -> list[torch.Tensor]:
        """Where the values of the parts are put."""
        return [room[: prod(part.shape)].view(part.shape) for room, part in zip(self._values, parts)]

    def arrays(self, size: int) -> torch.Tensor:
        """Where so many bytes of arrays are put."""
        return self._arrays[:size]


class Graph:
    """The captured work of a batch, which is done once when it is captured. It reads what is put into ``inputs``.

    Where all rows are cached on the device, everything is in the graph. Else a batch's rows are copied to it, and their
    gradients, of ``bytes`` bytes, are applied to them behind it. What it computes in between is in memory that all graphs have in
    common. ``loss``: the loss of the last batch, float64, until the next one.
    """

    def __init__(self, accelerator: Accelerator, inputs: GraphInputs, parts: Parts, sent: Arrays, work: Repeated):
        self._accelerator, self._whole = accelerator, is_whole(parts)
        self._first, self._bytes = span_of(arrays_of(parts, sent))
        room = inputs.arrays(self._bytes)
        self._arrays = room.data_ptr()
        self._values = [] if self._whole else inputs.values(parts)
        self._put(parts, sent)

        def moved(each: Sent) -> Sent:
            """Where an array is copied to. It is not on the host."""
            start = each.device - self._first
            return replace(each, host=0, device=self._arrays + start, start=start, room=room)

        there = {name: moved(each) for name, each in sent.items()}

        def everything() -> Learned:
            if self._whole:
                return trained([part.elsewhere(moved) for part in parts], there, work.learn), []
            loss, grads = work.learn(ArrivedBatch(self._values, there))
            return loss.to(torch.float64), grads

        self.loss: torch.Tensor
        (self.loss, self._grads), self._replay = accelerator.capture(everything, work.generators)
        self.bytes = sum(each.nbytes for each in self._grads)
        self._update(parts)

    def repeat(self, parts: Parts, sent: Arrays) -> None:
        """Do the work for another batch."""
        self._put(parts, sent)
        self._replay()
        self._update(parts)

    def _put(self, parts: Parts, sent: Arrays) -> None:
        """Copy a batch's numbers to where the graph reads them."""
        for own, part in zip(self._values, parts):
            part.values(own)
        first, size = span_of(arrays_of(parts, sent))
        assert size == self._bytes, "batches that are alike have arrays of equal sizes"
        if size:
            self._accelerator.library.copy(
                device=self._accelerator.index,
                stream=self._accelerator.computing.handle,
                target=self._arrays,
                source=first,
                bytes=size,
            )

    def _update(self, parts: Parts) -> None:
        if not self._whole:
            for part in parts:
                part.update(self._grads)


class Replays:
    """The graphs of a run's batches: those used last, whose results have ``kept`` bytes together, about.

    Where a graph cannot be captured, batches are learned from without one from then on. The same where ``kept`` is 0.
    """

    def __init__(self, accelerator: Accelerator, kept: int):
        self._accelerator, self._kept = accelerator, kept
        self._inputs = GraphInputs(accelerator.device)
        self._graphs: OrderedDict[Hashable, Graph] = OrderedDict()
        self._seen: OrderedDict[Hashable, int] = OrderedDict()
        self._dropped: list[Graph] = []
        self._works = kept > 0

    def train(self, parts: Parts, sent: Arrays, work: Repeated) -> torch.Tensor:
        """Train a batch, or repeat the work of one before it. Returns the loss. ``parts``: its rows. ``sent``: its arrays."""
        work.seed()
        key = (work.alike, *(part.alike for part in parts), *((name, each.bytes, each.dtype) for name, each in sent.items()))
        graph = self._graphs.get(key)
        if graph is not None:
            self._graphs.move_to_end(key)
            work.repeated(1)
            graph.repeat(parts, sent)
        elif (graph := self._captured(key, parts, sent, work)) is None:
            return trained(parts, sent, work.learn)
        return graph.loss

    def tidy(self) -> None:
        """Forget graphs that others have replaced, once the device is done with them. Call it between batches."""
        if self._dropped:
            self._accelerator.computing.record().wait()
            self._dropped.clear()

    def close(self) -> None:
        """Forget all graphs. The device must be done with them."""
        self._graphs.clear()
        self._dropped.clear()

    def _captured(self, key: Hashable, parts: Parts, sent: Arrays, work: Repeated) -> Graph | None:
        """Do and capture the work of a batch, where its like is frequent; None where nothing was done."""
        if not self._is_due(key):
            return None
        done: list[Learned] = []
        try:
            if self._inputs.reserve([] if is_whole(parts) else parts, span_of(arrays_of(parts, sent))[1]):
                self._drop_all()
            noted = replace(work, learn=noting(work.learn, done))
            graph = self._graphs[key] = Graph(self._accelerator, self._inputs, parts, sent, noted)
        except RuntimeError as error:  # of memory, too
            self._give_up(error)
            work.repeated(-len(done))
            work.seed()
            return None
        while len(self._graphs) > LEAST and (len(self._graphs) > MOST or self._bytes() > self._kept):
            oldest, dropped = self._graphs.popitem(last=False)
            self._dropped.append(dropped)
            self._seen.pop(oldest, None)  # it is captured again where it is frequent again
        return graph

    def _bytes(self) -> int:
        return sum(each.bytes for each in self._graphs.values())

    def _give_up(self, error: RuntimeError) -> None:
        """Capture nothing from now on, and forget all graphs, whose memory batches need now."""
        self._works = False
        self._drop_all()
        log.warning(
            "%s: the work of a batch cannot be captured as a graph, so each batch is launched call by call: %s",
            self._accelerator.device,
            str(error).splitlines()[0],
        )

    def _drop_all(self) -> None:
        self._dropped += self._graphs.values()
        self._graphs.clear()

    def _is_due(self, key: Hashable) -> bool:
        """Count a batch; true if those like it are to be captured."""
        self._seen[key] = count = self._seen.pop(key, 0) + 1
        if len(self._seen) > NOTED:
            self._seen.popitem(last=False)
        return self._works and count > SEEN


def noting(learn: Callable[[ArrivedBatch], Learned], done: list[Learned]) -> Callable[[ArrivedBatch], Learned]:
    """``learn``, which puts its results into ``done`` when it has come to its end."""

    def noted(arrived: ArrivedBatch) -> Learned:
        done.append(learn(arrived))
        return done[-1]

    return noted


def fits(size: int, room: torch.Tensor) -> bool:
    return size <= room.shape[0]


def trained(parts: Parts, sent: Arrays, learn: Callable[[ArrivedBatch], Learned]) -> torch.Tensor:
    """Learn from a batch, call by call, and update its blocks. Returns the loss, float64."""
    loss, grads = learn(ArrivedBatch([part.values() for part in parts], sent))
    for part in parts:
        part.update(grads)
    return loss.to(torch.float64)


def is_whole(parts: Parts) -> bool:
    """Return whether a graph may have in it what is done with the rows before and behind it."""
    return bool(parts) and all(part.whole for part in parts)


def arrays_of(parts: Parts, sent: Arrays) -> list[Sent]:
    """Return the arrays that a graph reads."""
    return [*sent.values(), *(each for part in parts for each in part.sent.each)] if is_whole(parts) else list(sent.values())


def span_of(arrays: Sequence[Sent]) -> tuple[int, int]:
    """Where a batch's arrays begin on the device, and how many bytes they take from there on. They lie side by side."""
    if not arrays:
        return 0, 0
    first = min(each.device for each in arrays)
    return first, max(each.device + each.bytes for each in arrays) - first
