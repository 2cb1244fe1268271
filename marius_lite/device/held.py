"""Tables of records that stay in device memory from batch to batch; only the computing stream touches them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import torch

from marius_lite.device.accelerator import Accelerator
from marius_lite.device.links import Link, Table
from marius_lite.device.packet import Packet, Sent
from marius_lite.types import Rows

HOT_SAMPLE = 1 << 20
"""Edges counted, about, to find the rows that a step touches most."""


class HeldTable:
    """Records (rows, width) float32 on the device, fetched into and stored from a batch's block by their places."""

    def __init__(self, accelerator: Accelerator, rows: int, width: int):
        self.records = torch.empty((rows, width), dtype=torch.float32, device=accelerator.device)
        self._accelerator = accelerator
        self._width = width

    def fetch(self, places: Sent, count: int, block: torch.Tensor) -> None:
        self._copy(count, source=self.records.data_ptr(), source_rows=places.device, target=block.data_ptr())

    def store(self, places: Sent, count: int, block: torch.Tensor) -> None:
        self._copy(count, source=block.data_ptr(), target=self.records.data_ptr(), target_rows=places.device)

    def _copy(self, count: int, **ends: Any) -> None:
        if count:
            stride = self._width * 4
            self._accelerator.library.copy_rows(device=self._accelerator.index, stream=self._accelerator.computing.handle,
                                                count=count, columns=self._width, source_stride=stride, target_stride=stride,
                                                max_sms=0, **ends)

    def _finish(self, work: Callable[[], object]) -> None:
        self._accelerator.computing.run(work)
        self._accelerator.computing.record().wait()


class Mirror(HeldTable):
    """The host's whole table again: partitions are copied in when they arrive and back before they leave.

    ``table``: the pinned host rows (rows, width); ``slot_rows``: rows from one slot to the next; ``changes``: whether batches
    change the rows, so that the host's must follow.
    """

    hot = "all"

    def __init__(self, accelerator: Accelerator, table: Table, slot_rows: int, changes: bool = True):
        super().__init__(accelerator, len(table), table.shape[1])
        self._table, self._slot_rows, self._changes = table, slot_rows, changes
        self._here: dict[int, int] = {}

    def leave(self, staying: Collection[int]) -> None:
        """Give back the partitions that do not stay; the others remain newer than the host's."""
        gone = {k: base for k, base in self._here.items() if k not in staying}
        self._to_host(gone)
        self._here = {k: base for k, base in self._here.items() if k not in gone}

    def enter(self, resident: Mapping[int, int]) -> None:
        """Copy in the partitions, by their base rows, that are not here."""
        new = {k: base for k, base in resident.items() if self._here.get(k) != base}
        self._accelerator.computing.run(lambda: self._copy_slots(new, to_host=False))
        self._here = dict(resident)

    def settle(self) -> None:
        """Make the host's rows those of the device; nothing leaves."""
        self._to_host(dict(self._here))

    def _to_host(self, partitions: Mapping[int, int]) -> None:
        if self._changes:
            self._finish(lambda: self._copy_slots(partitions, to_host=True))

    def _copy_slots(self, partitions: Mapping[int, int], to_host: bool) -> None:
        for base in partitions.values():
            rows = min(self._slot_rows, len(self._table) - base)
            host, there = self._table[base:].ctypes.data, self.records[base:].data_ptr()
            target, source = (host, there) if to_host else (there, host)
            self._accelerator.library.copy(device=self._accelerator.index, stream=self._accelerator.computing.handle,
                                           target=target, source=source, bytes=rows * self._width * 4)


class HotRows(HeldTable):
    """The rows that a step touches most, chosen when it begins and given back when it ends.

    ``link``: how they travel, in pieces of ``piece`` rows, through ``staging`` where the link needs it. ``changes``: whether
    batches change the rows; where not, they are kept for as long as the same partitions stay, and given back for nothing.
    """

    def __init__(self, accelerator: Accelerator, rows: int, width: int, link: Link, piece: int, changes: bool = True):
        super().__init__(accelerator, rows, width)
        self.hot: Rows = np.empty(0, np.int64)
        self._link, self._piece, self._changes = link, min(piece, rows), changes
        self._resident: frozenset[int] = frozenset()
        self._packet = Packet(accelerator, self._piece * 8)
        size = self._piece * width * 4
        self._staging = accelerator.host_bytes(size).view(torch.float32).view(-1, width) if link.staged else None

    def choose(self, touched: Rows) -> None:
        """Hold the rows that ``touched`` names most often, the first of equals; those that must also go back, if it is more
        than once."""
        rows, counts = np.unique(touched, return_counts=True)
        several = counts > int(self._changes)
        rows, counts = rows[several], counts[several]
        most = np.argsort(-counts, kind="stable")[: len(self.records)]
        self.hot = np.sort(rows[most]).astype(np.int64)
        self._move(self._link.fetch)

    def settle(self) -> None:
        """Make the host's rows those of the device; they stay here."""
        if self._changes:
            self._move(self._link.store)

    def leave(self, staying: Collection[int]) -> None:
        """Give all rows back: another step has hot rows of its own."""
        if self._changes or self._resident != frozenset(staying):
            self.settle()
            self.hot = self.hot[:0]

    def enter(self, resident: Mapping[int, int]) -> None:
        """Hot rows are chosen once it is known what the step touches."""
        self._resident = frozenset(resident)

    def _move(self, move: Callable[..., None]) -> None:
        for start in range(0, len(self.hot), self._piece):
            rows = self.hot[start:start + self._piece]
            self._packet.clear()
            sent = self._packet.put(rows)
            piece = self.records[start:start + len(rows)]

            def work(sent: Sent = sent, count: int = len(rows), piece: torch.Tensor = piece) -> None:
                stream = self._accelerator.computing
                self._packet.send(stream.handle)
                move(stream, sent, count, piece, self._staging)

            self._finish(work)
