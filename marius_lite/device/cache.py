"""Rows that stay in device memory from batch to batch: all resident ones, or those that a step touches most."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal

import numpy as np
import torch

from marius_lite.device.accelerator import Accelerator
from marius_lite.device.links import Link, Table
from marius_lite.device.packet import Packet, Sent
from marius_lite.types import Rows

HOT_SAMPLE = 1 << 20
"""Edges counted, about, to find the rows that a step touches most."""
SPARE_ROWS = 256
"""Rows that batches are filled with. Were it one, all that is written to it would wait in one line."""


class RowCache:
    """Records (rows, width) float32 in device memory. Batches copy them into their block and back.

    Only the computing stream reads and writes them.
    """

    def __init__(self, accelerator: Accelerator, rows: int, width: int):
        self.records = torch.empty((rows, width), dtype=torch.float32, device=accelerator.device)
        self._accelerator = accelerator
        self._width = width

    def fetch(self, indices: Sent, count: int, block: torch.Tensor) -> None:
        """Copy the cached records at the first ``count`` indices, int64, into the block."""
        self._copy(count, source=self.records.data_ptr(), source_rows=indices.device, target=block.data_ptr())

    def store(self, indices: Sent, count: int, block: torch.Tensor) -> None:
        """Copy the block's first ``count`` records to these indices of the cache."""
        self._copy(count, source=block.data_ptr(), target=self.records.data_ptr(), target_rows=indices.device)

    def _copy(self, count: int, **ends: Any) -> None:
        if count:
            stride = self._width * 4
            self._accelerator.library.copy_rows(
                device=self._accelerator.index,
                stream=self._accelerator.computing.handle,
                count=count,
                columns=self._width,
                source_stride=stride,
                target_stride=stride,
                max_sms=0,
                **ends,
            )

    def _finish(self, work: Callable[[], object]) -> None:
        """Put work on the computing stream, and wait for it."""
        self._accelerator.computing.run(work)
        self._accelerator.computing.record().wait()


class FullCache(RowCache):
    """A copy of the host's whole table. A partition is copied in when it becomes resident, and back before it leaves.

    ``table``: the pinned host rows (rows, width). ``slot_rows``: rows from one slot to the next. ``changes``: whether batches
    change the rows, so that they must go back to the host. ``spare``: rows behind them, which are none of the table's.
    """

    hot: Literal["all"] = "all"

    def __init__(self, accelerator: Accelerator, table: Table, slot_rows: int, changes: bool = True):
        self.spare = range(len(table), len(table) + SPARE_ROWS)
        super().__init__(accelerator, self.spare.stop, table.shape[1])
        self.records[self.spare.start :] = 0
        self._table, self._slot_rows, self._changes = table, slot_rows, changes
        self._resident: dict[int, int] = {}  # partition -> its first row

    def leave(self, staying: Collection[int]) -> None:
        """Copy the partitions that do not stay back to the host. The device keeps newer rows of the others."""
        gone = {k: base for k, base in self._resident.items() if k not in staying}
        self._to_host(gone)
        self._resident = {k: base for k, base in self._resident.items() if k not in gone}

    def enter(self, resident: Mapping[int, int]) -> None:
        """Have exactly these partitions, by partition its first row: copy in those that are new, or have moved."""
        new = {k: base for k, base in resident.items() if self._resident.get(k) != base}
        self._accelerator.computing.run(lambda: self._copy_slots(new, to_host=False))
        self._resident = dict(resident)

    def write_back(self) -> None:
        """Give the host's rows the device's values. Everything stays cached."""
        self._to_host(dict(self._resident))

    def _to_host(self, partitions: Mapping[int, int]) -> None:
        if self._changes:
            self._finish(lambda: self._copy_slots(partitions, to_host=True))

    def _copy_slots(self, partitions: Mapping[int, int], to_host: bool) -> None:
        for base in partitions.values():
            rows = min(self._slot_rows, len(self._table) - base)
            host, cached = self._table[base:].ctypes.data, self.records[base:].data_ptr()
            target, source = (host, cached) if to_host else (cached, host)
            self._accelerator.library.copy(
                device=self._accelerator.index,
                stream=self._accelerator.computing.handle,
                target=target,
                source=source,
                bytes=rows * self._width * 4,
            )


class HotRowCache(RowCache):
    """The rows that a step touches most. They are chosen when the step begins, and go back to the host when it ends.

    ``link``: how they travel, at most ``copy_rows`` rows at a time, through staging memory where the link needs it.
    ``changes``: whether batches change the rows. If not, nothing goes back, and they stay as long as the same partitions do.
    """

    def __init__(self, accelerator: Accelerator, rows: int, width: int, link: Link, copy_rows: int, changes: bool = True):
        super().__init__(accelerator, rows, width)
        self.hot: Rows = np.empty(0, np.int64)
        self._link, self._copy_rows, self._changes = link, min(copy_rows, rows), changes
        self._resident: frozenset[int] = frozenset()
        self._packet = Packet(accelerator, self._copy_rows * 8)
        size = self._copy_rows * width * 4
        self._staging = accelerator.host_bytes(size).view(torch.float32).view(-1, width) if link.staged else None

    def choose(self, touched: Rows) -> None:
        """Cache the rows that ``touched`` names most often; of equals, those with the lowest numbers.

        Where rows must also go back, a row that is named once is not worth caching.
        """
        rows, counts = np.unique(touched, return_counts=True)
        several = counts > int(self._changes)
        rows, counts = rows[several], counts[several]
        most = np.argsort(-counts, kind="stable")[: len(self.records)]
        self.hot = np.sort(rows[most]).astype(np.int64)
        self._move(self._link.fetch)

    def write_back(self) -> None:
        """Give the host's rows the device's values. Everything stays cached."""
        if self._changes:
            self._move(self._link.store)

    def leave(self, staying: Collection[int]) -> None:
        """Give all rows back: another step has hot rows of its own."""
        if self._changes or self._resident != frozenset(staying):
            self.write_back()
            self.hot = self.hot[:0]

    def enter(self, resident: Mapping[int, int]) -> None:
        """Note which partitions are resident. Rows are chosen later, once it is known what the step touches."""
        self._resident = frozenset(resident)

    def _move(self, move: Callable[..., None]) -> None:
        """Copy all hot rows through the link, `copy_rows` at a time."""
        for start in range(0, len(self.hot), self._copy_rows):
            rows = self.hot[start : start + self._copy_rows]
            self._packet.clear()
            [sent] = self._packet.put([rows])
            cached = self.records[start : start + len(rows)]

            def work(sent: Sent = sent, count: int = len(rows), cached: torch.Tensor = cached) -> None:
                stream = self._accelerator.computing
                self._packet.send(stream.handle)
                move(stream, sent, count, cached, self._staging)

            self._finish(work)
