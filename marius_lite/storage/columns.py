"""Write one-dimensional arrays, as a stream or by partition, past the page cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import crc32c_combine, write_file, write_file_range
from marius_lite.storage.background import WriteBehind
from marius_lite.storage.chunks import Chunks, chunk_folder, chunk_path
from marius_lite.storage.metadata import describe_array

CHUNK = 4 << 20  # elements
LEAST_BUFFER = 1 << 16  # elements
BUFFERS = 2  # of a column: one fills while the other is written
AMPLE = 1 << 30  # bytes


def chunk_length(upper_bound: int) -> int:
    """The elements of a chunk, in an array of at most ``upper_bound`` elements: 4 Mi, or fewer in a small array."""
    return max(1, min(CHUNK, upper_bound))


def filled_length(length: int) -> int:
    """Elements in the chunk files of an array whose ``length`` is known when it begins: the last chunk is filled up."""
    chunk = chunk_length(length)
    return -(-length // chunk) * chunk


class ColumnWriter:
    """Appends to a one-dimensional array at ``path``, with ``chunk`` elements in a file.

    ``files``: once the writer is closed, (size, crc32c) of each file. Another thread writes one buffer while the next one fills.
    ``memory``: bytes for both buffers; the files do not depend on it.
    """

    def __init__(self, path: Path, chunk: int, dtype: npt.DTypeLike = np.uint32, memory: int = AMPLE):
        self.path = path
        self.dtype = np.dtype(dtype)
        self.length = 0
        self.files: dict[Path, tuple[int, int]] = {}
        self._size = chunk
        size = min(chunk, max(LEAST_BUFFER, memory // (BUFFERS * np.dtype(dtype).itemsize) // LEAST_BUFFER * LEAST_BUFFER))
        self._filling, self._other = np.empty(size, dtype), np.empty(size, dtype)
        self._writer = WriteBehind()
        chunk_folder(path).mkdir(parents=True)

    def append(self, values: npt.NDArray[Any]) -> None:
        while len(values):
            at = self.length % self._size
            used = at % len(self._filling)
            part = values[: min(len(self._filling) - used, self._size - at)]
            self._filling[used : used + len(part)] = part
            self.length += len(part)
            values = values[len(part) :]
            if used + len(part) == len(self._filling) or at + len(part) == self._size:
                self._write(at - used, used + len(part))

    def _write(self, at: int, count: int) -> None:
        """Let the other thread write the buffer to position ``at`` of the last chunk. All before it is written."""
        path, each = chunk_path(self.path, (self.length - 1) // self._size, rows=False), self._filling.itemsize
        self._writer.call(self._write_now, path, at * each, self._filling[:count].view(np.uint8))
        self._filling, self._other = self._other, self._filling

    def _write_now(self, path: Path, offset: int, data: npt.NDArray[np.uint8]) -> None:
        checksum = write_file_range(str(path), offset, data)
        before = self.files[path][1] if offset else 0
        self.files[path] = (offset + len(data), crc32c_combine(before, checksum, len(data)))

    def close(self) -> None:
        """Fill the last chunk up with zeros, and write the metadata."""
        length, zeros = self.length, np.zeros(len(self._filling), self._filling.dtype)
        while left := -self.length % self._size:
            self.append(zeros[:left])
        self._writer.close()
        describe_array(self.path, zeros.dtype, [length], [self._size])


def write_node_column(
    path: Path, dtype: npt.DTypeLike, nodes: int, rows: int, values: Callable[[range], npt.NDArray[Any]]
) -> dict[Path, tuple[int, int]]:
    """Write a 1-D array with an entry for each of ``nodes``, a chunk for each partition of ``rows`` of them.

    The last chunk is filled up with zeros. ``values``: the entries of a range of node ids. Returns the chunk files with (size,
    crc32c).
    """
    chunks, files = node_column(path, dtype, nodes, rows), dict[Path, tuple[int, int]]()
    chunks.folder.mkdir(parents=True)
    for k in range(chunks.count):
        ids = range(k * rows, min((k + 1) * rows, nodes))
        chunk = np.zeros(rows, dtype)
        chunk[: len(ids)] = values(ids)
        files |= chunks.entry(k, write_file(str(chunks.path(k)), chunk.view(np.uint8)))
    describe_array(path, dtype, [nodes], [rows])
    return files


def create_node_column(path: Path, dtype: npt.DTypeLike, nodes: int, rows: int) -> Chunks:
    """Make an array as `write_node_column` does, but without its chunk files, which the caller makes."""
    chunks = node_column(path, dtype, nodes, rows)
    chunks.folder.mkdir(parents=True)
    describe_array(path, dtype, [nodes], [rows])
    return chunks


def node_column(path: Path, dtype: npt.DTypeLike, nodes: int, rows: int) -> Chunks:
    """The chunk files of an array with an entry for each node, a chunk for each partition of ``rows`` nodes."""
    return Chunks(path, -(-nodes // rows), rows * np.dtype(dtype).itemsize)
