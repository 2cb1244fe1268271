"""The way of a batch on a device: rows up, arithmetic, rows back, each on a stream of its own and several batches at a time.

    gathering    ids of batch n, rows that no batch under way has touched ...         | overlaps
    computing    ... those that one has, from where it left them; learn; update       | with its
    scattering   updated rows back to the host's buffer                               | neighbours

Rows are never stale: what the batches just before have changed is taken from their blocks, on the computing stream, so the
result has the same bits as one batch after the other. Events order the streams; the host waits for a batch only to end it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Literal

import numpy as np
import torch

from marius_lite.config.memory import LOOK_BACK, RING, packet_bytes
from marius_lite.device.accelerator import Accelerator
from marius_lite.device.held import HotRows, Mirror
from marius_lite.device.links import Link
from marius_lite.device.packet import Packet, Sent
from marius_lite.device.streams import Event
from marius_lite.types import BatchRows, DeviceBatch, Rows, SampledBatch

Learn = Callable[[DeviceBatch], tuple[torch.Tensor, Sequence[torch.Tensor]]]


@dataclass(frozen=True)
class BatchShape:
    """The most that a batch holds: ``edges``, and negatives of shape (sides, chunks, count)."""

    edges: int
    negatives: tuple[int, int, int]

    @property
    def places(self) -> int:
        sides, chunks, count = self.negatives
        return 2 * self.edges + sides * chunks * count


@dataclass(frozen=True)
class RowUpdate:
    """The row optimizer's name, its learning rate and its options, for the native step."""

    kind: str
    lr: float
    options: dict[str, float]

    @classmethod
    def of(cls, kind: str, optimizer: object, lr: float) -> RowUpdate:
        assert is_dataclass(optimizer)
        assert not isinstance(optimizer, type)
        return cls(kind, lr, asdict(optimizer))


class _Slot:
    """What one batch under way needs: ids, block, loss."""

    def __init__(self, accelerator: Accelerator, shape: BatchShape, width: int, staged: bool):
        self.packet = Packet(accelerator, packet_bytes(shape.edges, shape.places))
        self.block = torch.empty((shape.places, width), dtype=torch.float32, device=accelerator.device)
        self.loss = accelerator.host_bytes(8).view(torch.float64)
        size = shape.places * width * 4
        self.staging = accelerator.host_bytes(size).view(torch.float32).view(-1, width) if staged else None
        self.computed: Event | None = None
        self.landed: Event | None = None


class DeviceRows:
    """Trains batches over a host table of records through ``link``, with some or all of its rows held on the device.

    ``dim`` value columns begin each record of ``width`` float32 columns. Not for several threads at once.
    """

    def __init__(self, accelerator: Accelerator, link: Link, held: Mirror | HotRows | None, update: RowUpdate, dim: int,
                 width: int, shape: BatchShape):
        self._accelerator, self._link, self.held, self._update = accelerator, link, held, update
        self._dim, self._width = dim, width
        self._ring = [_Slot(accelerator, shape, width, link.staged) for _ in range(RING)]
        self._sums = torch.empty((shape.places, dim), dtype=torch.float32, device=accelerator.device)
        self._begun = 0

    @property
    def hot(self) -> Rows | Literal["all"]:
        """The rows that do not travel, as `RowTracker` wants them."""
        if isinstance(self.held, Mirror):
            return "all"
        return self.held.hot if self.held else np.empty(0, np.int64)

    def begin(self, sampled: SampledBatch, rows: BatchRows, learn: Learn) -> Callable[[], float]:
        """Put a batch on the streams. What is returned waits until its update has landed, and gives its loss.

        At most RING batches may be under way: the oldest ends before one more begins.
        """
        slot, number = self._slot(0), self._begun
        device = self._accelerator
        gathering, computing, scattering = device.gathering, device.computing, device.scattering
        slot.packet.clear()
        sent = _SentRows.put(slot.packet, sampled, rows)
        if number >= LOOK_BACK:
            gathering.after(self._slot(-LOOK_BACK).computed)  # the last to read the block that is filled now
        if number > LOOK_BACK:
            gathering.after(self._slot(-LOOK_BACK - 1).landed)  # from here on, rows missing in the host's table are named
        gathering.run(lambda: self._fetch(slot, sent, rows))
        computing.after(gathering.record())
        earlier = {distance: self._slot(-distance) for distance, *_ in rows.again}
        computing.run(lambda: self._compute(slot, sent, sampled, rows, earlier, learn))
        slot.computed = computing.record()
        scattering.after(slot.computed)
        scattering.run(lambda: self._link.store(scattering, sent.rows, rows.cold, slot.block, slot.staging))
        landed = slot.landed = scattering.record()
        self._begun += 1

        def end() -> float:
            landed.wait()
            return float(slot.loss[0])

        return end

    def close(self) -> None:
        """Wait for what is under way, and give up the device's memory."""
        for stream in (self._accelerator.gathering, self._accelerator.computing, self._accelerator.scattering):
            stream.record().wait()
        self._ring.clear()
        self.held = None
        self._link.close()

    def _slot(self, ago: int) -> _Slot:
        return self._ring[(self._begun + ago) % RING]

    def _fetch(self, slot: _Slot, sent: _SentRows, rows: BatchRows) -> None:
        slot.packet.send(self._accelerator.gathering.handle)
        self._link.fetch(self._accelerator.gathering, sent.rows, rows.cold, slot.block, slot.staging)

    def _compute(self, slot: _Slot, sent: _SentRows, sampled: SampledBatch, rows: BatchRows, earlier: Mapping[int, _Slot],
                 learn: Learn) -> None:
        for (distance, places, _), (there, here) in zip(rows.again, sent.again, strict=True):
            self._take(earlier[distance].block, there, slot.block, here, len(places))
        held = len(rows.hot)
        if self.held:
            self.held.fetch(sent.hot, held, slot.block[rows.cold:])
        loss, grads = learn(self._batch(slot, sent, sampled, len(rows.rows)))
        slot.loss.copy_(loss.reshape(1), non_blocking=True)
        self._step(slot, sent, grads, len(rows.rows))
        if self.held:
            self.held.store(sent.hot, held, slot.block[rows.cold:])

    def _batch(self, slot: _Slot, sent: _SentRows, sampled: SampledBatch, count: int) -> DeviceBatch:
        values, edges = slot.block[:count, : self._dim], len(sampled.edges.src)
        places = sent.inverse.tensor
        src, dst, negatives = (values.index_select(0, part) for part in
                               (places[:edges], places[edges:2 * edges], places[2 * edges:]))
        return DeviceBatch(sampled, src, dst, negatives.view(*sampled.negatives.shape, self._dim), sent.rel.tensor)

    def _take(self, source: torch.Tensor, there: Sent, target: torch.Tensor, here: Sent, count: int) -> None:
        self._accelerator.library.copy_rows(
            device=self._accelerator.index, stream=self._accelerator.computing.handle, source=source.data_ptr(),
            source_rows=there.device, target=target.data_ptr(), target_rows=here.device, index_bytes=4, count=count,
            columns=self._width, source_stride=self._width * 4, target_stride=self._width * 4, max_sms=0)

    def _step(self, slot: _Slot, sent: _SentRows, grads: Sequence[torch.Tensor], count: int) -> None:
        """Sum the gradients of equal rows, in the order of their places, and update the block's records."""
        flat = [grad.reshape(-1, self._dim).contiguous() for grad in grads]
        call = {"device": self._accelerator.index, "stream": self._accelerator.computing.handle}
        library = self._accelerator.library
        library.segment_sum(**call, parts=[(grad.data_ptr(), len(grad)) for grad in flat], order=sent.order.device,
                            starts=sent.starts.device, segments=count, out=self._sums.data_ptr(), dim=self._dim)
        library.row_step(**call, kind=self._update.kind, block=slot.block.data_ptr(), count=count, stride=self._width * 4,
                         dim=self._dim, grads=self._sums.data_ptr(), lr=self._update.lr, **self._update.options)


@dataclass(frozen=True, slots=True)
class _SentRows:
    rows: Sent
    hot: Sent
    inverse: Sent
    order: Sent
    starts: Sent
    rel: Sent
    again: tuple[tuple[Sent, Sent], ...]

    @classmethod
    def put(cls, packet: Packet, sampled: SampledBatch, rows: BatchRows) -> _SentRows:
        return cls(packet.put(rows.rows), packet.put(rows.hot), packet.put(rows.inverse), packet.put(rows.order),
                   packet.put(rows.starts), packet.put(sampled.edges.rel),
                   tuple((packet.put(there), packet.put(here)) for _, there, here in rows.again))
