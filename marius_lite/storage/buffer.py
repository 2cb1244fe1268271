"""The partitions of a RowTable that are in memory, as one array of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import marius_lite._native as _native
from marius_lite.errors import NotFinite, RunError
from marius_lite.files import disk_error
from marius_lite.storage.bfloat16 import BITS
from marius_lite.storage.resident import ResidentPartitions
from marius_lite.storage.table import RowTable

CHECKED = (np.dtype(np.float32), BITS)
"""The dtypes whose numbers must be finite where they are written."""


class PastTransfer(NamedTuple):
    """A load or a write of a partition that has ended. ``begin``, ``end``: seconds of `time.perf_counter`."""

    partition: int
    is_write: bool
    begin: float
    end: float


class PartitionBuffer:
    """Slots of memory for ``slots`` partitions. ``threads`` threads load partitions ahead and write them in the background.

    ``rows``: (slots * slot_rows, width) of the table's dtype, in memory that the I/O threads use too. Row i of partition k is
    ``rows[resident.base_row(k) + i]``. ``resident``, what `enter` returned last, says which partitions may be read and changed,
    and is alive as long as they may be. Nobody does so while `flush` runs. Who changes rows calls `mark_dirty` before the next
    `enter` or `flush`.

    As a context manager the buffer is flushed and closed at the end; after an exception it is only closed. What is dirty at
    `close` is lost. A partition of float32 or bfloat16 rows with a number that is not finite is not written: NotFinite, a
    RunError, is raised by the same calls as for failed I/O. Failed I/O raises RunError, at once or at the next call of enter,
    adopt, flush, await_writes or close. The data are then still in memory, and every call is possible, also the one that failed.
    Not for several threads at once.
    """

    def __init__(self, table: RowTable, slots: int, threads: int = 4, direct: bool = True) -> None:
        self.table = table
        with self._errors():
            self._native = _native.PartitionBuffer(
                str(table.chunks.folder),
                table.partitions,
                table.rows_per_partition,
                table.stride,
                slots,
                threads,
                direct,
                table.dtype.itemsize if table.dtype in CHECKED else 0,
            )
        self.slots = slots
        self.slot_rows: int = self._native.slot_rows
        self.direct: bool = self._native.direct
        self.rows: npt.NDArray[Any] = self._native.memory.view(table.dtype)
        self.resident = self._resident(())
        if table.checksums is not None:
            self.expect(table.checksums)

    def enter(self, now: Iterable[int], next: Iterable[int] = ()) -> ResidentPartitions:
        """Make the partitions ``now`` resident, begin to load ``next`` where slots are free, and give up all others."""
        partitions = [int(k) for k in now]
        with self._errors():
            self._native.enter(partitions, [int(k) for k in next])
        self.resident.end()  # where it failed, what could not be written is still in memory
        self.resident = self._resident(partitions)
        return self.resident

    def adopt(self, k: int) -> npt.NDArray[Any]:
        """Make partition k resident without reading its file: its rows (size, width), which are zero and dirty."""
        with self._errors():
            self._native.adopt(k)
        self.resident.add(k)
        return self.resident.view(k)

    def mark_dirty(self, partitions: Iterable[int]) -> None:
        """Note that rows of these resident partitions were changed."""
        self._native.mark_dirty([int(k) for k in partitions])

    def flush(self) -> dict[int, int]:
        """Write all dirty partitions, and wait for every write; the CRC-32C of each file that was written or expected so far.

        The files are complete, but not synced.
        """
        with self._errors():
            self._native.flush()
        return dict(self._native.checksums())

    def await_writes(self) -> dict[int, int]:
        """Wait for the writes under way; the CRC-32C of each file that was written or expected so far.

        What is dirty and resident is not written: the files of what `enter` gave up before are complete, but not synced.
        """
        with self._errors():
            self._native.await_writes()
        return dict(self._native.checksums())

    def expect(self, checksums: Mapping[int, int]) -> None:
        """Compare a partition's file with its CRC-32C in ``checksums`` whenever it is loaded: RunError where they differ."""
        self._native.expect(dict(checksums))

    def state(self, k: int) -> str:
        """The state of partition k: on_disk, loading, resident, dirty or writing."""
        return str(self._native.state(k))

    def counters(self) -> dict[str, float]:
        """What was counted so far.

        bytes_read, bytes_written: whole blocks. loads, writes: partitions. read_s, write_s: seconds with at least one under way.
        wait_s: seconds that callers waited.
        """
        return dict(self._native.counters())

    def take_past(self) -> list[PastTransfer]:
        """Return the loads and writes that ended since the last call, in order; the first 65,536 of more."""
        return [PastTransfer(*one) for one in self._native.take_past()]

    def close(self) -> None:
        """Wait for the writes under way, and end the threads. The memory exists as long as there are views of ``rows``."""
        self.resident.end()
        self.rows = np.empty((0, self.table.width), self.table.dtype)
        with self._errors():
            self._native.close()

    def __enter__(self) -> PartitionBuffer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            try:
                self.flush()
            finally:
                self.close()
        else:
            with suppress(RunError):  # the first error is the one to tell
                self.close()

    def _resident(self, partitions: Sequence[int]) -> ResidentPartitions:
        return ResidentPartitions(self.rows, lambda k: int(self._native.slot(k)) * self.slot_rows, self.table.size, partitions)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise disk_error(error, Path(self.table.path)) from error
        except OverflowError as error:
            raise NotFinite(str(error)) from error
        except RuntimeError as error:
            raise RunError(str(error)) from error
