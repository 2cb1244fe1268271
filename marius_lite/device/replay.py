"""Repeat on a device what it did for one batch, on the numbers of others: one call of the host in place of some hundred.

What a batch puts on the device is the same for all batches that are *alike*: of equal shapes, with equal learning rates. So the
work of one is captured as a CUDA graph. It reads the numbers of a batch where they are copied to before it is launched. Where
batches are so small that the device waits for the host, several batches are one graph.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from math import prod

import torch

from marius_lite.device.accelerator import Accelerator
from marius_lite.device.arrived import ArrivedBatch, Learned
from marius_lite.device.packet import Sent, with_room
from marius_lite.device.rows import TablePart
from marius_lite.device.sent import Repeated, SentBatch, span_of
from marius_lite.log import log

SEEN = 8
"""Batches that are alike before their work is captured, which takes as long as some batches; the same for groups of batches. The
first ones also make memory, and handles of libraries. Sizes that batches are evenly cut into alternate: groups of n are of up to
n + 1 kinds then."""
LEAST, MOST = 2, 32
"""Graphs that are kept whatever memory they take, as the batches of a window have one of two sizes; and graphs that are kept at
most, as old ones are of no use where learning rates change from window to window."""
NOTED = 256
"""Kinds of batches that are counted before they are captured."""

Parts = Sequence[TablePart]
Batches = Sequence[SentBatch]


class GraphInputs:
    """Memory where graphs read what arrives with batches: their rows' values, table after table, and their arrays.

    All graphs have it in common, because one works at a time.
    """

    def __init__(self, device: torch.device):
        self._device = device
        self._values: list[torch.Tensor] = []
        self._arrays = torch.empty(0, dtype=torch.uint8, device=device)

    def reserve(self, parts: Parts, size: int) -> bool:
        """Have room for parts and arrays of ``size`` bytes; true if some of it is new memory, which graphs so far do not read."""
        needed = [prod(part.shape) for part in parts]
        if size <= len(self._arrays) and len(needed) <= len(self._values) and all(map(fits, needed, self._values)):
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
    """The captured work of a batch, or of several, which is done once when it is captured. It reads what is put into ``inputs``.

    Where all rows are cached on the device, everything is in the graph. Else it is of one batch, whose rows are copied to it, and
    their gradients, of ``bytes`` bytes, are applied to them behind it. What it computes in between is in memory that all graphs
    have in common. ``losses``: of the batches that it was done for last, float64 (batches,).
    """

    def __init__(self, accelerator: Accelerator, inputs: GraphInputs, batches: Batches):
        self._accelerator, first = accelerator, batches[0]
        start, self._bytes = span_of(batches)
        room = inputs.arrays(self._bytes)
        self._arrays = room.data_ptr()
        self._values = [] if first.whole else inputs.values(first.parts)
        self._put(batches)

        def moved(each: Sent) -> Sent:
            """Where an array is copied to. It is not on the host."""
            place = each.device - start
            return each._replace(host=0, device=self._arrays + place, start=place, room=room)

        def everything() -> Learned:
            if first.whole:
                return torch.cat([batch.moved(moved).trained() for batch in batches]), []
            return first.moved(moved).learned(self._values)

        work = first.work
        generators = work.generators if isinstance(work, Repeated) else ()
        self.losses: torch.Tensor
        (self.losses, self._grads), self._replay = accelerator.capture(everything, generators)
        self.bytes = sum(each.nbytes for each in self._grads)
        self._update(batches)

    def repeat(self, batches: Batches) -> None:
        """Do the work for as many other batches."""
        self._put(batches)
        self._replay()
        self._update(batches)

    def _put(self, batches: Batches) -> None:
        """Copy the batches' numbers to where the graph reads them."""
        for own, part in zip(self._values, batches[0].parts):
            part.values(own)
        first, size = span_of(batches)
        assert size == self._bytes, "batches that are alike have arrays of equal sizes"
        if size:
            self._accelerator.library.copy(
                device=self._accelerator.index,
                stream=self._accelerator.computing.handle,
                target=self._arrays,
                source=first,
                bytes=size,
            )

    def _update(self, batches: Batches) -> None:
        if not batches[0].whole:
            batches[0].update(self._grads)


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

    def train(self, batches: Batches) -> Iterator[torch.Tensor]:
        """Train batches, or repeat the work of others before them. Several must be whole, see `SentBatch`.

        Yields their losses in order, float64 (some,), each time those of some more of them. Take them before you ask again.
        """
        if len(batches) > 1:
            graph = self._done(batches)
            if graph is not None:
                yield graph.losses
                return
        for batch in batches:
            graph = self._done([batch])
            yield batch.trained() if graph is None else graph.losses

    def _done(self, batches: Batches) -> Graph | None:
        """Do the work of batches by a graph, and return it. None where there is none, and nothing was done but to seed."""
        work, key = batches[0].work, tuple(batch.alike for batch in batches)
        if not isinstance(work, Repeated) or None in key:
            return None
        if len(batches) > 1 and work.generators:
            return None  # a graph is seeded once
        work.seed()
        graph = self._graphs.get(key)
        if graph is None:
            return self._captured(key, batches, work)
        self._graphs.move_to_end(key)
        work.repeated(len(batches))
        graph.repeat(batches)
        return graph

    def tidy(self) -> None:
        """Forget graphs that others have replaced, once the device is done with them. Call it between batches."""
        if self._dropped:
            self._accelerator.computing.record().wait()
            self._dropped.clear()

    def close(self) -> None:
        """Forget all graphs. The device must be done with them."""
        self._graphs.clear()
        self._dropped.clear()

    def _captured(self, key: Hashable, batches: Batches, work: Repeated) -> Graph | None:
        """Do and capture the work of batches, where their like is frequent; None where nothing was done."""
        if not self._is_due(key):
            return None
        done: list[Learned] = []
        try:
            if self._inputs.reserve([] if batches[0].whole else batches[0].parts, span_of(batches)[1]):
                self._drop_all()
            noted = [replace(batch, work=noting(batch.work, done)) for batch in batches]
            graph = self._graphs[key] = Graph(self._accelerator, self._inputs, noted)
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
        """Count batches, one or some together; true if those like them are to be captured."""
        self._seen[key] = count = self._seen.pop(key, 0) + 1
        if len(self._seen) > NOTED:
            self._seen.popitem(last=False)
        return self._works and count > SEEN


def noting(work: Repeated | Callable[[ArrivedBatch], Learned], done: list[Learned]) -> Repeated:
    """``work``, whose `learn` puts its results into ``done`` when it has come to its end."""
    assert isinstance(work, Repeated)
    learn = work.learn

    def noted(arrived: ArrivedBatch) -> Learned:
        done.append(learn(arrived))
        return done[-1]

    return replace(work, learn=noted)


def fits(size: int, room: torch.Tensor) -> bool:
    return size <= room.shape[0]
