"""One-dimensional arrays written as a stream or by partition: every chunk file past the page cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import crc32c_combine, write_file, write_file_range
from marius_lite.storage.chunks import Chunks, chunk_folder, chunk_path
from marius_lite.storage.metadata import describe_column
from marius_lite.storage.write_behind import WriteBehind

CHUNK = 4 << 20
LEAST_PIECE = 1 << 16
BUFFERS = 2  # of a column: one fills while the other is written
AMPLE = 1 << 30


def chunk_length(upper_bound: int) -> int:
    """Elements per chunk of an array of at most ``upper_bound`` elements: 4 Mi, fewer for small arrays."""
    return max(1, min(CHUNK, upper_bound))


def filled_length(length: int) -> int:
    """Elements in the chunk files of an array whose ``length`` is known when it begins: the last chunk is filled up."""
    chunk = chunk_length(length)
    return -(-length // chunk) * chunk


class ColumnWriter:
    """Appends to a 1-D array at ``path``, ``chunk`` elements a file; ``files`` maps these to (size, crc32c), once it is closed.

    A piece of a chunk is written by another thread while the next one fills. ``memory``: bytes for both; what is written does
    not depend on it.
    """

    def __init__(self, path: Path, chunk: int, dtype: npt.DTypeLike = np.uint32, memory: int = AMPLE):
        self.path = path
        self.length = 0
        self.files: dict[Path, tuple[int, int]] = {}
        self._size = chunk
        piece = min(chunk, max(LEAST_PIECE, memory // (BUFFERS * np.dtype(dtype).itemsize) // LEAST_PIECE * LEAST_PIECE))
        self._piece, self._other = np.empty(piece, dtype), np.empty(piece, dtype)
        self._writer = WriteBehind()
        chunk_folder(path).mkdir(parents=True)

    def append(self, values: npt.NDArray[Any]) -> None:
        while len(values):
            at = self.length % self._size
            used = at % len(self._piece)
            part = values[: min(len(self._piece) - used, self._size - at)]
            self._piece[used : used + len(part)] = part
            self.length += len(part)
            values = values[len(part) :]
            if used + len(part) == len(self._piece) or at + len(part) == self._size:
                self._write(at - used, used + len(part))

    def _write(self, at: int, count: int) -> None:
        """The piece goes to its place in the chunk that ends with it; the one before it is there."""
        path, each = chunk_path(self.path, (self.length - 1) // self._size, rows=False), self._piece.itemsize
        self._writer.call(self._write_now, path, at * each, self._piece[:count].view(np.uint8))
        self._piece, self._other = self._other, self._piece

    def _write_now(self, path: Path, offset: int, data: npt.NDArray[np.uint8]) -> None:
        checksum = write_file_range(str(path), offset, data)
        before = self.files[path][1] if offset else 0
        self.files[path] = (offset + len(data), crc32c_combine(before, checksum, len(data)))

    def close(self) -> None:
        """Fill the last chunk up with zeros, write the metadata."""
        length, zeros = self.length, np.zeros(len(self._piece), self._piece.dtype)
        while left := -self.length % self._size:
            self.append(zeros[:left])
        self._writer.close()
        describe_column(self.path, zeros.dtype, length, self._size)


def write_node_column(path: Path, dtype: npt.DTypeLike, nodes: int, rows: int,
                      values: Callable[[range], npt.NDArray[Any]]) -> dict[Path, tuple[int, int]]:
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
    describe_column(path, dtype, nodes, rows)
    return files


def create_node_column(path: Path, dtype: npt.DTypeLike, nodes: int, rows: int) -> Chunks:
    """Make such an array without its chunk files, which are to be made next."""
    chunks = node_column(path, dtype, nodes, rows)
    chunks.folder.mkdir(parents=True)
    describe_column(path, dtype, nodes, rows)
    return chunks


def node_column(path: Path, dtype: npt.DTypeLike, nodes: int, rows: int) -> Chunks:
    """The chunk files of such an array."""
    return Chunks(path, -(-nodes // rows), rows * np.dtype(dtype).itemsize)
