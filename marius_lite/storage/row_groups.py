"""Read a few rows out of a large table, each compared with a checksum.

A partition's checksum is that of a whole file: to read one row, all would be read. Groups of rows have checksums of their own,
taken while the whole file was compared. So a row costs one small read, through the page cache.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import crc32c
from marius_lite.errors import RunError
from marius_lite.files import disk_errors
from marius_lite.storage.bfloat16 import floats
from marius_lite.storage.table import RowTable

GROUP_BYTES = 4096
"""Bytes of a group, about."""
TOGETHER = 256
"""Groups that are read together, and files that are open at most: each group may be in a file of its own."""
BLOCK_BYTES = 8 << 20
Sums = npt.NDArray[np.uint32]


def group_rows(table: RowTable) -> int:
    """Return how many rows of a table are a group."""
    return max(1, GROUP_BYTES // table.stride)


def no_sums(table: RowTable) -> Sums:
    """Return room for the checksums of all groups: (partitions, groups of a partition)."""
    return np.zeros((table.partitions, -(-table.rows_per_partition // group_rows(table))), np.uint32)


def summed_blocks(table: RowTable, k: int, sums: Sums) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """Yield the rows of partition k's file as `RowTable.blocks` does, and put the checksums of its groups into ``sums``.

    The last block is yielded before the file has been compared. Raises RunError where it is damaged.
    """
    rows, stride = group_rows(table), table.stride
    for first, block in table.blocks(k, max(1, BLOCK_BYTES // (rows * stride)) * rows * stride):
        flat, size = block.view(np.uint8).reshape(-1), rows * stride
        for number, start in enumerate(range(0, len(flat), size), first // rows):
            sums[number] = crc32c(flat[start : start + size])
        yield first, block


class RowGroups:
    """Reads rows of a table by node id. ``sums``: the checksums of its groups."""

    def __init__(self, table: RowTable, sums: Sums):
        self._table, self._sums, self._rows = table, sums, group_rows(table)
        self._files = ExitStack()
        self._opened: dict[int, int] = {}

    def read(self, nodes: npt.NDArray[np.int64], columns: int) -> npt.NDArray[np.float32]:
        """Return the first ``columns`` numbers of nodes (n,), float32 (n, columns). Raises RunError for damaged rows."""
        parts, offsets = np.divmod(nodes, self._table.rows_per_partition)
        within, inside = np.divmod(offsets, self._rows)
        groups, place = np.unique(parts * self._sums.shape[1] + within, return_inverse=True)
        place, rows = place.reshape(-1), np.empty((len(nodes), columns), np.float32)
        order = np.argsort(place, kind="stable")
        begins = np.searchsorted(place[order], np.arange(len(groups) + 1))
        for first in range(0, len(groups), TOGETHER):
            last = min(first + TOGETHER, len(groups))
            some = order[begins[first] : begins[last]]
            rows[some] = floats(self._groups(groups[first:last])[place[some] - first, inside[some], :columns])
        return rows

    def _groups(self, groups: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the rows of at most TOGETHER groups, (n, rows of a group, width). The last group of a partition has fewer: the
        rest is undefined.

        All are asked for before the first is waited for.
        """
        table, step = self._table, self._rows * self._table.stride
        parts, numbers = np.divmod(groups, self._sums.shape[1])
        starts = numbers * step
        sizes = np.minimum(step, table.chunk_bytes - starts)
        found = np.empty((len(groups), step), np.uint8)
        if len(self._opened | dict.fromkeys(parts.tolist())) > TOGETHER:
            self.close()
        wanted = [(self._open(k), size, start) for k, size, start in zip(parts.tolist(), sizes.tolist(), starts.tolist())]
        for file, size, start in wanted:
            os.posix_fadvise(file, start, size, os.POSIX_FADV_WILLNEED)
        sums = np.zeros((1, len(groups)), np.uint32)
        for at, (file, size, start) in enumerate(wanted):
            with disk_errors(table.path):
                got = os.preadv(file, [found[at, :size].data], start)
            if got == size:
                sums[0, at] = crc32c(found[at, :size])
        wrong = np.flatnonzero(sums[0] != self._sums.reshape(-1)[groups])
        if len(wrong):
            path = table.chunk_path(int(parts[wrong[0]]))
            raise RunError(f"{path}: does not match its checksum, the file was changed or is damaged")
        return found.view(table.dtype).reshape(len(groups), self._rows, table.width)

    def _open(self, k: int) -> int:
        if k not in self._opened:
            path = self._table.chunk_path(k)
            with disk_errors(path):
                self._opened[k] = os.open(path, os.O_RDONLY)
                self._files.callback(os.close, self._opened[k])
                os.posix_fadvise(self._opened[k], 0, 0, os.POSIX_FADV_RANDOM)
        return self._opened[k]

    def close(self) -> None:
        self._files.close()
        self._opened.clear()
