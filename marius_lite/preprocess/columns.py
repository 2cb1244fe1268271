"""Zarr v3 arrays written as a stream: metadata by zarr, every chunk file past the page cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import zarr

from marius_lite._native import write_file
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.background import WriteBehind

CHUNK = 4 << 20


def chunk_length(upper_bound: int) -> int:
    """Elements per chunk of an array of at most ``upper_bound`` elements: 4 Mi, fewer for small arrays."""
    return max(1, min(CHUNK, upper_bound))


class ColumnWriter:
    """Appends to a 1-D array at ``path``; ``files`` maps chunk files to (size, crc32c), once it is closed.

    A chunk is written by another thread while the next one fills.
    """

    def __init__(self, path: Path, chunk: int, dtype: npt.DTypeLike = np.uint32):
        self.path = path
        self.length = 0
        self.files: dict[Path, tuple[int, int]] = {}
        self._chunk, self._other = np.zeros(chunk, dtype), np.empty(0, dtype)
        self._writer = WriteBehind()
        (path / "c").mkdir(parents=True)

    def append(self, values: npt.NDArray[Any]) -> None:
        size = len(self._chunk)
        while len(values):
            at = self.length % size
            part = values[: size - at]
            self._chunk[at : at + len(part)] = part
            self.length += len(part)
            values = values[len(part) :]
            if self.length % size == 0:
                self._write(self.length // size - 1)

    def _write(self, index: int) -> None:
        """The chunk goes to its file; the one before it is there."""
        self._writer.call(self._write_now, self.path / "c" / str(index), self._chunk.view(np.uint8))
        self._chunk, self._other = self._other if len(self._other) else np.zeros_like(self._chunk), self._chunk

    def _write_now(self, path: Path, data: npt.NDArray[np.uint8]) -> None:
        self.files[path] = (len(data), write_file(str(path), data))

    def close(self) -> None:
        """Write the last chunk, padded with zeros, and the metadata."""
        size = len(self._chunk)
        if self.length % size:
            self._chunk[self.length % size :] = 0
            self._write(self.length // size)
        self._writer.close()
        zarr.create_array(self.path, shape=(self.length,), chunks=(size,), dtype=self._chunk.dtype, **PLAIN)


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
