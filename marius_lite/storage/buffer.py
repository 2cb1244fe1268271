"""The partitions of a RowTable that are in memory, seen as one array of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

import marius_lite._native as _native
from marius_lite.errors import NotFinite, RunError
from marius_lite.files import disk_error
from marius_lite.storage.table import RowTable


class PartitionBuffer:
    """Slots for ``slots`` partitions, loaded ahead and written behind by ``threads`` threads.

    ``rows``: of the table's dtype, (slots * slot_rows, width), in memory shared with the I/O threads: partition k's row of
    offset i is ``rows[base_row(k) + i]``. Rows of the partitions that the last `enter` named as ``now``, or
    adopted since, may be read and changed until the next `enter` or `flush` begins, and again after a
    `flush`; whoever changed rows says so by `mark_dirty` before the next `enter` or `flush`.

    Used as a context manager it flushes and closes at the end, and after an exception only closes. What is
    dirty at `close` is lost. float32 rows are never written where a number of their partition is not finite: NotFinite, a
    RunError, at the same calls as failed I/O. Failed I/O raises RunError at the call that meets it or at the next one (enter,
    adopt, flush, close); then the data are still in memory and every call, the same one included, is
    possible. Not for several threads at once.
    """

    def __init__(self, table: RowTable, slots: int, threads: int = 4, direct: bool = True) -> None:
        self.table = table
        with self._errors():
            self._native = _native.PartitionBuffer(
                str(table.chunks.folder), table.partitions, table.rows_per_partition, table.stride, slots,
                threads, direct, table.dtype == np.float32)
        self.slots = slots
        self.slot_rows: int = self._native.slot_rows
        self.direct: bool = self._native.direct
        self.rows: npt.NDArray[np.float32] = self._native.memory.view(table.dtype)
        if table.checksums is not None:
            self.expect(table.checksums)

    def enter(self, now: Iterable[int], next: Iterable[int] = ()) -> None:
        """Make ``now`` resident, start to load ``next`` where slots are free, let everything else go."""
        with self._errors():
            self._native.enter([int(k) for k in now], [int(k) for k in next])

    def adopt(self, k: int) -> npt.NDArray[np.float32]:
        """Make partition k resident, its rows (size, width) zeroed and dirty, without reading its file."""
        with self._errors():
            self._native.adopt(k)
        return self.view(k)

    def base_row(self, k: int) -> int:
        """Index in ``rows`` of partition k's first row. Raises ValueError when it is not in memory."""
        return int(self._native.slot(k)) * self.slot_rows

    def view(self, k: int) -> npt.NDArray[np.float32]:
        """Partition k's rows (size, width)."""
        base = self.base_row(k)
        return self.rows[base : base + self.table.size(k)]

    def mark_dirty(self, partitions: Iterable[int]) -> None:
        """Say that rows of these resident partitions were changed."""
        self._native.mark_dirty([int(k) for k in partitions])

    def flush(self) -> dict[int, int]:
        """Write all dirty partitions and wait for every write. Returns the CRC-32C of each file written or expected so far.

        The files are complete, but not synced.
        """
        with self._errors():
            self._native.flush()
        return dict(self._native.checksums())

    def expect(self, checksums: Mapping[int, int]) -> None:
        """Take the files' CRC-32C, which are verified whenever a partition is loaded, RunError on a difference."""
        self._native.expect(dict(checksums))

    def state(self, k: int) -> str:
        """One of on_disk, loading, resident, dirty, writing."""
        return str(self._native.state(k))

    def counters(self) -> dict[str, float]:
        """bytes_read, bytes_written (whole blocks); loads, writes (partitions); in seconds read_s,
        write_s (with at least one under way), wait_s (callers waited)."""
        return dict(self._native.counters())

    def close(self) -> None:
        """Wait for the writes under way, end the threads. The memory lives as long as views of ``rows``."""
        self.rows = np.empty((0, self.table.width), np.float32)
        with self._errors():
            self._native.close()

    def __enter__(self) -> PartitionBuffer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is None:
            try:
                self.flush()
            finally:
                self.close()
        else:
            with suppress(RunError):  # the first error is the one to tell
                self.close()

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
