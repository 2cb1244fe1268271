"""Copy chosen rows between the host's buffer and a block on the device, in one of two ways."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.device.accelerator import Accelerator
from marius_lite.device.packet import Sent
from marius_lite.device.streams import Stream

Table = npt.NDArray[np.float32]


class Link(Protocol):
    """Copies records of a host table to a block on the device and back, in the order of a stream.

    ``block``: (m, width) float32. Its first ``count`` rows are the records of ``rows``, int64 and unique. ``staged``: whether
    copies need ``staging``, pinned host memory of the block's size that nothing else uses until the copy is done.
    """

    name: str
    staged: bool

    def fetch(self, stream: Stream, rows: Sent, count: int, block: torch.Tensor, staging: torch.Tensor | None) -> None:
        """Copy rows of the host's table into the block."""

    def store(self, stream: Stream, rows: Sent, count: int, block: torch.Tensor, staging: torch.Tensor | None) -> None:
        """Copy the block's rows into the host's table."""

    def close(self) -> None:
        """Let go of the host's table. No copy may be under way."""


class ZeroCopy:
    """Kernels read and write the host's table, which is pinned. The CPU does nothing."""

    name, staged = "zero_copy", False

    def __init__(self, accelerator: Accelerator, table: Table, slot_rows: int, max_sms: int, threads: int):
        """Pins ``table``, in as many registrations of whole slots as the driver needs.

        ``slot_rows``: rows of a slot. ``max_sms``: multiprocessors that a kernel takes at most. ``threads``: how many touch
        the memory first. Raises RuntimeError where the driver refuses.
        """
        self._accelerator, self._stride, self._max_sms = accelerator, table.shape[1] * table.itemsize, max_sms
        self._pinned = accelerator.library.pin(table.view(np.uint8), slot_rows * self._stride, accelerator.index, threads)
        self._table = self._pinned.address

    def fetch(self, stream: Stream, rows: Sent, count: int, block: torch.Tensor, staging: torch.Tensor | None) -> None:
        self._copy(stream, count, source=self._table, source_rows=rows.device, target=block.data_ptr())

    def store(self, stream: Stream, rows: Sent, count: int, block: torch.Tensor, staging: torch.Tensor | None) -> None:
        self._copy(stream, count, source=block.data_ptr(), target=self._table, target_rows=rows.device)

    def close(self) -> None:
        self._pinned.close()

    def _copy(self, stream: Stream, count: int, **ends: Any) -> None:
        if count:
            self._accelerator.library.copy_rows(
                device=self._accelerator.index,
                stream=stream.handle,
                count=count,
                columns=self._stride // 4,
                source_stride=self._stride,
                target_stride=self._stride,
                max_sms=self._max_sms,
                **ends,
            )


class Staged:
    """The CPU gathers rows into pinned memory, and one copy brings them to the device. They go back the same way."""

    name, staged = "staged", True

    def __init__(self, accelerator: Accelerator, table: Table, threads: int):
        self._accelerator, self._table, self._threads = accelerator, table, threads
        self._stride = table.shape[1] * table.itemsize

    def fetch(self, stream: Stream, rows: Sent, count: int, block: torch.Tensor, staging: torch.Tensor | None) -> None:
        assert staging is not None
        if count:
            self._accelerator.library.host_gather(**self._host_rows(stream, rows, count, staging))
            self._copy(stream, block, staging, count)

    def store(self, stream: Stream, rows: Sent, count: int, block: torch.Tensor, staging: torch.Tensor | None) -> None:
        assert staging is not None
        if count:
            self._copy(stream, staging, block, count)
            self._accelerator.library.host_scatter(**self._host_rows(stream, rows, count, staging))

    def close(self) -> None:
        pass

    def _copy(self, stream: Stream, target: torch.Tensor, source: torch.Tensor, count: int) -> None:
        self._accelerator.library.copy(
            device=self._accelerator.index,
            stream=stream.handle,
            target=target.data_ptr(),
            source=source.data_ptr(),
            bytes=count * self._stride,
        )

    def _host_rows(self, stream: Stream, rows: Sent, count: int, staging: torch.Tensor) -> dict[str, int]:
        return {
            "device": self._accelerator.index,
            "stream": stream.handle,
            "table": self._table.ctypes.data,
            "table_stride": self._stride,
            "rows": rows.host,
            "count": count,
            "block": staging.data_ptr(),
            "block_stride": self._stride,
            "bytes": self._stride,
            "threads": self._threads,
        }
