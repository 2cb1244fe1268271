"""Zarr v3 arrays written as a stream: metadata by zarr, every chunk file past the page cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import zarr

from marius_lite._native import crc32c_combine, write_file, write_file_range
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.disk.background import WriteBehind

CHUNK = 4 << 20
LEAST_PIECE = 1 << 16
BUFFERS = 2  # of a column: one fills while the other is written
AMPLE = 1 << 30


def chunk_length(upper_bound: int) -> int:
    """Elements per chunk of an array of at most ``upper_bound`` elements: 4 Mi, fewer for small arrays."""
    return max(1, min(CHUNK, upper_bound))


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
        (path / "c").mkdir(parents=True)

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
        path, each = self.path / "c" / str((self.length - 1) // self._size), self._piece.itemsize
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
        zarr.create_array(self.path, shape=(length,), chunks=(self._size,), dtype=zeros.dtype, **PLAIN)


PLAIN: dict[str, Any] = {"compressors": None, "filters": None, "fill_value": 0, "zarr_format": 3}


def write_array(path: Path, values: npt.NDArray[Any]) -> None:
    """A small array as one uncompressed chunk."""
    array = zarr.create_array(
        path,
        shape=values.shape,
        chunks=values.shape,
        dtype=values.dtype,
        config={"write_empty_chunks": True},
        **PLAIN,
    )
    array[...] = values


def write_node_column(path: Path, dtype: npt.DTypeLike, partitioning: Partitioning,
                      values: Callable[[range], npt.NDArray[Any]]) -> dict[Path, tuple[int, int]]:
    """A 1-D array with an entry for each node, a chunk for each partition, the last one filled up with zeros.

    ``values``: the entries of a range of node ids. The chunk files with (size, crc32c)."""
    (path / "c").mkdir(parents=True)
    files = {}
    for k in range(partitioning.partitions):
        chunk = np.zeros(partitioning.rows, dtype)
        chunk[: partitioning.size(k)] = values(partitioning.range(k))
        data = chunk.view(np.uint8)
        files[path / "c" / str(k)] = (len(data), write_file(str(path / "c" / str(k)), data))
    describe_node_column(path, dtype, partitioning)
    return files


def describe_node_column(path: Path, dtype: npt.DTypeLike, partitioning: Partitioning) -> None:
    """The metadata of such an array."""
    zarr.create_array(path, shape=(partitioning.nodes,), chunks=(partitioning.rows,), dtype=dtype, **PLAIN)


def create_group(path: Path) -> None:
    zarr.create_group(path, zarr_format=3)
