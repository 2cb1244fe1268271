"""Keep the rows of all nodes between two layers of an encoder: in memory where they fit, else in a table on disk."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from marius_lite._native import crc32c, gather
from marius_lite.config.sizes import padded_width
from marius_lite.graph.partitioning import Partitioning
from marius_lite.storage.table import SPAN_BYTES, RowTable
from marius_lite.types import Ids

Rows = npt.NDArray[np.float32]
Write = Callable[[Rows], None]


class LayerRows(Protocol):
    """The rows of all nodes, (nodes, ``width``) float32. ``memory_bytes``: bytes that they take in memory."""

    width: int
    memory_bytes: int

    def writing(self, k: int) -> AbstractContextManager[Write]:
        """Give a function that writes the next rows of partition k, (n, width) at a time, until the block ends."""

    def read(self, ids: Ids, out: Rows) -> None:
        """Read the rows of ascending node ids into ``out`` (n, width)."""

    def blocks(self, most: int) -> Generator[tuple[int, Rows], None, None]:
        """Yield (first node id, rows) of consecutive nodes, block after block, all nodes in order. Rows may be padded.

        ``most``: bytes that are read at a time.
        """

    def remove(self) -> None:
        """Free the memory or the disk that the rows take."""


class RowsInMemory:
    """Rows in memory: one array of all nodes."""

    def __init__(self, partitioning: Partitioning, width: int):
        self.width, self._partitioning = width, partitioning
        self._rows = np.empty((partitioning.nodes, width), np.float32)
        self.memory_bytes = self._rows.nbytes

    def of(self, k: int) -> Rows:
        """Return the rows of partition k, which may be changed in place."""
        ids = self._partitioning.range(k)
        return self._rows[ids.start : ids.stop]

    @contextmanager
    def writing(self, k: int) -> Iterator[Write]:
        left = self.of(k)

        def write(rows: Rows) -> None:
            nonlocal left
            left[: len(rows)] = rows
            left = left[len(rows) :]

        yield write

    def read(self, ids: Ids, out: Rows) -> None:
        gather(self._rows, ids, out)

    def blocks(self, most: int) -> Generator[tuple[int, Rows], None, None]:
        step = max(1, most // (4 * self.width))
        for first in range(0, len(self._rows), step):
            yield first, self._rows[first : first + step]

    def remove(self) -> None:
        self._rows, self.memory_bytes = np.empty((0, self.width), np.float32), 0


class RowsOnDisk:
    """Rows in a new table at ``path``, padded with zeros to its stride. Rows are compared with their checksum when they are read.

    Nothing is synced, because nobody needs the table after a crash.
    """

    memory_bytes = 0

    def __init__(self, path: Path, partitioning: Partitioning, width: int):
        self.width, self._partitioning = width, partitioning
        self._table = RowTable.create(
            path, partitioning.nodes, padded_width(width, np.float32), partitioning.rows, {"columns": width}
        )
        self._checksums: dict[int, int] = {}

    def table(self) -> RowTable:
        """Return the table with its checksums. Every partition must have been written."""
        if self._table.checksums is None:
            self._table = self._table.expecting(self._checksums)
        return self._table

    @contextmanager
    def writing(self, k: int) -> Iterator[Write]:
        table, left, checksum = self._table, self._table.chunk_bytes, 0

        def count(data: npt.NDArray[np.uint8]) -> None:
            nonlocal left, checksum
            left, checksum = left - len(data), crc32c(data, checksum)

        with table.writing(k) as write_whole:

            def write(rows: Rows) -> None:
                padded = np.zeros((len(rows), table.width), np.float32)
                padded[:, : self.width] = rows
                write_whole(padded)
                count(padded.view(np.uint8).reshape(-1))

            yield write
        zeros = np.zeros(min(left, SPAN_BYTES), np.uint8)  # the file of the last partition is as long as the others
        while left:
            count(zeros[:left])
        self._checksums[k] = checksum

    def read(self, ids: Ids, out: Rows) -> None:
        bounds = np.searchsorted(ids, np.arange(self._partitioning.partitions + 1) * self._partitioning.rows)
        for k in np.flatnonzero(np.diff(bounds)).tolist():
            part = slice(int(bounds[k]), int(bounds[k + 1]))
            self.table().read_rows_into(k, ids[part] - self._partitioning.range(k).start, out[part])

    def blocks(self, most: int) -> Generator[tuple[int, Rows], None, None]:
        for k in range(self._partitioning.partitions):
            start = self._partitioning.range(k).start
            for offset, rows in self.table().node_blocks(k, most):
                if len(rows):
                    yield start + offset, rows

    def in_memory(self) -> RowsInMemory:
        """Return all rows in memory. Each is read once."""
        rows = RowsInMemory(self._partitioning, self.width)
        for k in range(self._partitioning.partitions):
            self.table().read_into(k, rows.of(k))
        return rows

    def remove(self) -> None:
        self._table.remove()
