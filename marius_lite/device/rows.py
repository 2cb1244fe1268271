"""One table's rows on a device: a block of memory for each batch under way, and what each batch does with its block.

Rows are never stale. A row that the batches just before have changed is copied out of their blocks, on the computing stream.
So the result has the same bits as one batch after the other. A table that is only read needs neither this nor a way back.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
import torch

from marius_lite.config.memory import RING
from marius_lite.device.accelerator import Accelerator
from marius_lite.device.cache import FullCache, HotRowCache
from marius_lite.device.clip import clip_rows_
from marius_lite.device.links import Link
from marius_lite.device.packet import Packet, Sent, with_room
from marius_lite.types import BatchRows, Rows


class WithOptions(Protocol):
    """A row optimizer of `marius_lite.optim.rows`, as far as it matters here."""

    @property
    def options(self) -> Mapping[str, float]: ...


@dataclass(frozen=True)
class RowStepSettings:
    """What the native optimizer step on a device takes: the row optimizer's name, learning rate and options.

    ``clip``: the largest norm of a row's gradient; 0: no limit.
    """

    kind: str
    lr: float
    options: dict[str, float]
    clip: float = 0.0

    @classmethod
    def of(cls, kind: str, optimizer: WithOptions, lr: float, clip: float = 0.0) -> RowStepSettings:
        return cls(kind, lr, dict(optimizer.options), clip)


@dataclass(frozen=True)
class RowForm:
    """How a record is read: its first ``columns`` numbers, of ``dtype``, times ``scales`` (columns,) if given."""

    columns: int
    dtype: torch.dtype = torch.float32
    scales: torch.Tensor | None = None

    @property
    def plain(self) -> bool:
        """Whether values are what a record begins with, as it is."""
        return self.dtype == torch.float32 and self.scales is None

    def values(self, block: torch.Tensor, indices: torch.Tensor | None) -> torch.Tensor:
        """The values of the records at these indices of a block (u, width) float32, or of all: float32 (m, columns)."""
        stored = block.view(self.dtype)[:, : self.columns]
        if indices is not None:
            stored = stored.index_select(0, indices)
        values = stored.to(torch.float32)
        return values.contiguous() if self.scales is None else values.mul_(self.scales)


@dataclass
class _Room:
    """Device memory for the rows of one batch under way, and pinned memory of that size where the link needs it."""

    block: torch.Tensor
    staging: torch.Tensor | None


class DeviceTable:
    """Rows of a host table (n, width), moved as float32 columns, that batches fetch through ``link``.

    ``cache``: some or all of them, kept on the device. ``step``: how batches change the ``form.columns`` values that begin each
    record, with a learning rate multiplied by ``rate``; None where rows are only read. ``rows``: how many a batch has room for
    at the start; the room grows with larger batches.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        link: Link,
        cache: FullCache | HotRowCache | None,
        form: RowForm,
        width: int,
        step: RowStepSettings | None,
        rows: int = 0,
    ):
        self.accelerator, self.link, self.cache, self.form, self.step = accelerator, link, cache, form, step
        self.width, self.rows = width, rows
        self.rate = 1.0
        self._ring = [self._make(rows) for _ in range(RING)]
        self._sums = self._make_sums(rows)

    @property
    def hot(self) -> Rows | Literal["all"]:
        """The rows that are cached, as `RowTracker` takes them."""
        return self.cache.hot if self.cache else np.empty(0, np.int64)

    @property
    def spare(self) -> range | None:
        """The rows that batches are filled with, where all rows are cached."""
        return self.cache.spare if isinstance(self.cache, FullCache) else None

    def reserve(self, number: int, rows: int) -> bool:
        """Have room for ``rows`` rows of batch ``number``; true if the room is new memory.

        No batch under way may still use the room, which every RING batches share.
        """
        if self.step and rows > self._sums.shape[0]:  # len() of a tensor goes through code of torch in Python
            self._sums = self._make_sums(with_room(rows))
        if rows <= self._ring[number % RING].block.shape[0]:
            return False
        self._ring[number % RING] = self._make(with_room(rows))
        return True

    def part(self, number: int, rows: BatchRows, packet: Packet) -> TablePart:
        """The part of batch ``number`` that concerns this table. Its row numbers are put into ``packet``."""
        earlier = {distance: self._ring[(number - distance) % RING].block for distance, *_ in rows.again}
        room = self._ring[number % RING]
        return TablePart(self, rows, _SentRows.put(packet, rows), room.block, room.staging, earlier, self._sums)

    def close(self) -> None:
        """Free the device's memory and let go of the host's table. No batch may be under way."""
        self._ring.clear()
        self.cache = None
        self.link.close()

    def _make(self, rows: int) -> _Room:
        block = torch.empty((rows, self.width), dtype=torch.float32, device=self.accelerator.device)
        if not self.link.staged:
            return _Room(block, None)
        return _Room(block, self.accelerator.host_bytes(block.nbytes).view(torch.float32).view(-1, self.width))

    def _make_sums(self, rows: int) -> torch.Tensor:
        return torch.empty((rows if self.step else 0, self.form.columns), dtype=torch.float32, device=self.accelerator.device)


@dataclass(frozen=True, slots=True)
class _SentRows:
    """The arrays of a `BatchRows` on the device; ``rows`` are the cold ones alone."""

    rows: Sent
    hot: Sent
    inverse: Sent
    order: Sent
    starts: Sent
    again: tuple[tuple[Sent, Sent], ...]

    @classmethod
    def put(cls, packet: Packet, rows: BatchRows) -> _SentRows:
        again = [positions for _, *pair in rows.again for positions in pair]
        cold, hot, inverse, order, starts, *pairs = packet.put(
            [rows.rows[: rows.cold], rows.hot, rows.inverse, rows.order, rows.starts, *again]
        )
        return cls(cold, hot, inverse, order, starts, tuple(zip(pairs[::2], pairs[1::2])))

    @property
    def each(self) -> tuple[Sent, ...]:
        """All arrays."""
        return self.rows, self.hot, self.inverse, self.order, self.starts, *(sent for pair in self.again for sent in pair)


@dataclass(frozen=True, slots=True)
class TablePart:
    """One batch's rows of a table, and what each stream does with them.

    ``earlier``: the blocks of batches before it, by how many batches before. ``sums``: room for the rows' summed gradients.
    """

    table: DeviceTable
    rows: BatchRows
    sent: _SentRows
    block: torch.Tensor
    staging: torch.Tensor | None
    earlier: dict[int, torch.Tensor]
    sums: torch.Tensor

    def fetch(self) -> None:
        """On the gathering stream: copy the rows that are not cached into the block."""
        self.table.link.fetch(self.table.accelerator.gathering, self.sent.rows, self.rows.cold, self.block, self.staging)

    @property
    def goes_back(self) -> bool:
        """Whether `store` has rows to copy."""
        return self.table.step is not None and self.rows.cold > 0

    @property
    def shape(self) -> tuple[int, int]:
        """That of `values`."""
        return len(self.rows.inverse) or len(self.rows.rows), self.table.form.columns

    @property
    def whole(self) -> bool:
        """Whether all that the computing stream does with it can be repeated for parts of equal sizes: all rows are cached."""
        return self.table.spare is not None and not self.rows.again

    @property
    def alike(self) -> Hashable:
        """Equal for parts with which a graph does the same: of equal shapes, equal rates where their step is in the graph."""
        return (self.shape, len(self.rows.rows), self.table.rate) if self.whole else self.shape

    def elsewhere(self, moved: Callable[[Sent], Sent]) -> TablePart:
        """Return the part with its arrays where ``moved`` says, and a block of its own."""
        sent = replace(
            self.sent,
            rows=moved(self.sent.rows),
            hot=moved(self.sent.hot),
            inverse=moved(self.sent.inverse),
            order=moved(self.sent.order),
            starts=moved(self.sent.starts),
        )
        rows = len(self.rows.rows)
        return replace(self, sent=sent, block=torch.empty_like(self.block[:rows]), sums=torch.empty_like(self.sums[:rows]))

    def values(self, out: torch.Tensor | None = None) -> torch.Tensor:
        """On the computing stream: complete the block; the values at the batch's places, float32 (m, columns).

        ``out``: where they go, if given.
        """
        for (distance, shared, _), (earlier, now) in zip(self.rows.again, self.sent.again, strict=True):
            self.take_shared(self.earlier[distance], earlier, now, len(shared))
        if self.table.cache:
            self.table.cache.fetch(self.sent.hot, len(self.rows.hot), self.block[self.rows.cold :])
        if self.table.form.plain and len(self.rows.inverse):
            out = torch.empty(self.shape, device=self.block.device) if out is None else out
            self._copy(self.block, out, *out.shape, source_rows=self.sent.inverse.device)
            return out
        inverse = self.sent.inverse.tensor if len(self.rows.inverse) else None
        found = self.table.form.values(self.block[: len(self.rows.rows)], inverse)
        return found if out is None else out.copy_(found)

    def take_shared(self, source: torch.Tensor, earlier: Sent, now: Sent, count: int) -> None:
        """Copy ``count`` rows that an earlier batch has changed out of its block; int32 indices in its block and in this one."""
        self._copy(source, self.block, count, self.table.width, source_rows=earlier.device, target_rows=now.device)

    def update(self, grads: Sequence[torch.Tensor]) -> None:
        """On the computing stream: sum the gradients of equal rows, in the order of their places; step the block."""
        table, step, count = self.table, self.table.step, len(self.rows.rows)
        if step is None:
            return
        sum_segments(table.accelerator, grads, self.sent.order, self.sent.starts, self.sums[:count])
        if step.clip:
            clip_rows_(self.sums[:count], step.clip)
        table.accelerator.library.row_step(
            device=table.accelerator.index,
            stream=table.accelerator.computing.handle,
            kind=step.kind,
            block=self.block.data_ptr(),
            count=count,
            stride=table.width * 4,
            dim=table.form.columns,
            grads=self.sums.data_ptr(),
            lr=step.lr * table.rate,
            **step.options,
        )
        if table.cache:
            table.cache.store(self.sent.hot, len(self.rows.hot), self.block[self.rows.cold :])

    def _copy(self, source: torch.Tensor, target: torch.Tensor, count: int, columns: int, **rows: Any) -> None:
        """Copy ``count`` rows on the device, of float32 with so many columns; ``rows``: addresses of int32 indices."""
        accelerator = self.table.accelerator
        accelerator.library.copy_rows(
            device=accelerator.index,
            stream=accelerator.computing.handle,
            source=source.data_ptr(),
            target=target.data_ptr(),
            index_bytes=4,
            count=count,
            columns=columns,
            source_stride=source.shape[1] * 4,
            target_stride=target.shape[1] * 4,
            max_sms=0,
            **rows,
        )

    def store(self) -> None:
        """On the scattering stream: copy the rows that are not cached back into the host's table."""
        if self.goes_back:
            self.table.link.store(self.table.accelerator.scattering, self.sent.rows, self.rows.cold, self.block, self.staging)


def sum_segments(accelerator: Accelerator, grads: Sequence[torch.Tensor], order: Sent, starts: Sent, out: torch.Tensor) -> None:
    """On the computing stream: out[s] = the sum of the gradients at places order[starts[s]:starts[s + 1]], added in that order.

    ``grads``: parts of shape (places, dim) that lie end to end. ``out``: (segments, dim).
    """
    segments, dim = out.shape
    flat = [grad if grad.dim() == 2 and grad.is_contiguous() else grad.reshape(-1, dim).contiguous() for grad in grads]
    accelerator.library.segment_sum(
        device=accelerator.index,
        stream=accelerator.computing.handle,
        parts=[(grad.data_ptr(), grad.shape[0]) for grad in flat],
        order=order.device,
        starts=starts.device,
        segments=segments,
        out=out.data_ptr(),
        dim=dim,
    )
