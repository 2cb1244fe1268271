"""A table of rows on its way to and from a device: the blocks of the batches under way, and what each batch does with its own.

Rows are never stale: what the batches just before have changed is taken from their blocks, on the computing stream, so the
result has the same bits as one batch after the other. A table that no batch changes shares nothing and sends nothing back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import torch

from marius_lite.config.memory import RING
from marius_lite.device.accelerator import Accelerator
from marius_lite.device.clip import clip_rows_
from marius_lite.device.held import HotRows, Mirror
from marius_lite.device.links import Link
from marius_lite.device.packet import Packet, Sent, with_room
from marius_lite.types import BatchRows, Rows


class WithOptions(Protocol):
    """A row optimizer, as `marius_lite.optim.rows` makes it."""

    @property
    def options(self) -> Mapping[str, float]: ...


@dataclass(frozen=True)
class RowUpdate:
    """The row optimizer's name, its learning rate and its options, for the native step; ``clip``: the largest norm of a row's
    gradient, 0 for any."""

    kind: str
    lr: float
    options: dict[str, float]
    clip: float = 0.0

    @classmethod
    def of(cls, kind: str, optimizer: WithOptions, lr: float, clip: float = 0.0) -> RowUpdate:
        return cls(kind, lr, dict(optimizer.options), clip)


@dataclass(frozen=True)
class RowForm:
    """What a record stands for: its first ``columns`` numbers of ``dtype``, times ``scales`` (columns,) where there are."""

    columns: int
    dtype: torch.dtype = torch.float32
    scales: torch.Tensor | None = None

    def values(self, block: torch.Tensor, places: torch.Tensor | None) -> torch.Tensor:
        """float32 (m, columns) of the records at some positions, or all, of a block (u, width) float32."""
        stored = block.view(self.dtype)[:, : self.columns]
        if places is not None:
            stored = stored.index_select(0, places)
        values = stored.to(torch.float32)
        return values.contiguous() if self.scales is None else values.mul_(self.scales)


@dataclass
class _Room:
    """Device memory for the rows of one batch under way, and the pinned memory they pass through where the link needs it."""

    block: torch.Tensor
    staging: torch.Tensor | None


class DeviceTable:
    """Rows of a host table (n, width) of float32 columns, whatever they stand for, that batches bring up through ``link``.

    ``held``: some or all of them that stay on the device. ``update``: how batches change the ``form.columns`` values that begin
    each record, its learning rate multiplied by ``rate``; None where rows are only read. ``rows``: room for a batch's at the
    start; more is made where one needs it.
    """

    def __init__(self, accelerator: Accelerator, link: Link, held: Mirror | HotRows | None, form: RowForm, width: int,
                 update: RowUpdate | None, rows: int = 0):
        self.accelerator, self.link, self.held, self.form, self.update = accelerator, link, held, form, update
        self.width = width
        self.rate = 1.0
        self._ring = [self._make(rows) for _ in range(RING)]
        self._sums = self._make_sums(rows)

    @property
    def hot(self) -> Rows | Literal["all"]:
        """The rows that do not travel, as `RowTracker` wants them."""
        if isinstance(self.held, Mirror):
            return "all"
        return self.held.hot if self.held else np.empty(0, np.int64)

    def reserve(self, number: int, rows: int) -> bool:
        """Have room for the rows of batch ``number``, whose room no batch under way has: whether it is in a new place."""
        if self.update and rows > len(self._sums):
            self._sums = self._make_sums(with_room(rows))
        if rows <= len(self._ring[number % RING].block):
            return False
        self._ring[number % RING] = self._make(with_room(rows))
        return True

    def part(self, number: int, rows: BatchRows, packet: Packet) -> TablePart:
        """What batch ``number`` takes; its ids are put into ``packet``."""
        earlier = {distance: self._ring[(number - distance) % RING].block for distance, *_ in rows.again}
        room = self._ring[number % RING]
        return TablePart(self, rows, _SentRows.put(packet, rows), room.block, room.staging, earlier, self._sums)

    def close(self) -> None:
        """Give up the device's memory and the host's table; nothing may be under way."""
        self._ring.clear()
        self.held = None
        self.link.close()

    def _make(self, rows: int) -> _Room:
        block = torch.empty((rows, self.width), dtype=torch.float32, device=self.accelerator.device)
        if not self.link.staged:
            return _Room(block, None)
        return _Room(block, self.accelerator.host_bytes(block.nbytes).view(torch.float32).view(-1, self.width))

    def _make_sums(self, rows: int) -> torch.Tensor:
        return torch.empty((rows if self.update else 0, self.form.columns), dtype=torch.float32, device=self.accelerator.device)


@dataclass(frozen=True, slots=True)
class _SentRows:
    rows: Sent
    hot: Sent
    inverse: Sent
    order: Sent
    starts: Sent
    again: tuple[tuple[Sent, Sent], ...]

    @classmethod
    def put(cls, packet: Packet, rows: BatchRows) -> _SentRows:
        return cls(packet.put(rows.rows[: rows.cold]), packet.put(rows.hot), packet.put(rows.inverse), packet.put(rows.order),
                   packet.put(rows.starts), tuple((packet.put(there), packet.put(here)) for _, there, here in rows.again))


@dataclass(frozen=True, slots=True)
class TablePart:
    """One batch's rows of a table, and what is done with them stream by stream."""

    table: DeviceTable
    rows: BatchRows
    sent: _SentRows
    block: torch.Tensor
    staging: torch.Tensor | None
    earlier: dict[int, torch.Tensor]
    sums: torch.Tensor

    def fetch(self) -> None:
        """Gathering: the cold rows into the block."""
        self.table.link.fetch(self.table.accelerator.gathering, self.sent.rows, self.rows.cold, self.block, self.staging)

    def values(self) -> torch.Tensor:
        """Computing: what stands at the batch's places, float32 (m, columns), once the block is complete."""
        for (distance, places, _), (there, here) in zip(self.rows.again, self.sent.again, strict=True):
            self.take(self.earlier[distance], there, here, len(places))
        if self.table.held:
            self.table.held.fetch(self.sent.hot, len(self.rows.hot), self.block[self.rows.cold:])
        inverse = self.sent.inverse.tensor if len(self.rows.inverse) else None
        return self.table.form.values(self.block[: len(self.rows.rows)], inverse)

    def take(self, source: torch.Tensor, there: Sent, here: Sent, count: int) -> None:
        accelerator, width = self.table.accelerator, self.table.width
        accelerator.library.copy_rows(
            device=accelerator.index, stream=accelerator.computing.handle, source=source.data_ptr(), source_rows=there.device,
            target=self.block.data_ptr(), target_rows=here.device, index_bytes=4, count=count, columns=width,
            source_stride=width * 4, target_stride=width * 4, max_sms=0)

    def update(self, grads: Sequence[torch.Tensor]) -> None:
        """Computing: sum the gradients of equal rows, in the order of their places, and update the block's records."""
        table, update, count = self.table, self.table.update, len(self.rows.rows)
        if update is None:
            return
        sum_segments(table.accelerator, grads, self.sent.order, self.sent.starts, self.sums[:count])
        if update.clip:
            clip_rows_(self.sums[:count], update.clip)
        table.accelerator.library.row_step(
            device=table.accelerator.index, stream=table.accelerator.computing.handle, kind=update.kind,
            block=self.block.data_ptr(), count=count, stride=table.width * 4, dim=table.form.columns,
            grads=self.sums.data_ptr(), lr=update.lr * table.rate, **update.options)
        if table.held:
            table.held.store(self.sent.hot, len(self.rows.hot), self.block[self.rows.cold:])

    def store(self) -> None:
        """Scattering: the cold rows back into the host's table."""
        if self.table.update:
            self.table.link.store(self.table.accelerator.scattering, self.sent.rows, self.rows.cold, self.block, self.staging)


def sum_segments(accelerator: Accelerator, grads: Sequence[torch.Tensor], order: Sent, starts: Sent, out: torch.Tensor) -> None:
    """Computing: out[s] (segments, dim) = the sum of the gradients at places order[starts[s]:starts[s + 1]], in that order.

    ``grads``: the parts of all places, end to end.
    """
    flat = [grad.reshape(-1, out.shape[1]).contiguous() for grad in grads]
    accelerator.library.segment_sum(
        device=accelerator.index, stream=accelerator.computing.handle, parts=[(grad.data_ptr(), len(grad)) for grad in flat],
        order=order.device, starts=starts.device, segments=len(out), out=out.data_ptr(), dim=out.shape[1])
