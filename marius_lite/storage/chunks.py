"""The chunk files of an array: name, read and make them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.storage.checksum import file_checksum
from marius_lite.storage.engine import empty_for_range, read_range
from marius_lite.storage.snapshots import link

CHUNKS = "c"  # by Zarr's default names
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Chunks:
    """The chunk files of the array in the folder ``array``: ``count`` raw files of ``size`` bytes each.

    Chunk k is the file ``c/<k>`` of a one-dimensional array. It is ``c/<k>/0`` of a table, where each chunk has whole ``rows``.
    """

    array: Path
    count: int
    size: int
    rows: bool = False

    @property
    def folder(self) -> Path:
        """The folder of the chunk files."""
        return chunk_folder(self.array)

    def path(self, k: int) -> Path:
        """The file of chunk k, as messages and manifests name it."""
        return chunk_path(self.array, k, self.rows)

    def checksums(self, root: Path, files: Mapping[str, tuple[int, int]]) -> dict[int, int]:
        """Each chunk's CRC-32C. ``files``: (size, crc32c) by path relative to ``root``. Raises KeyError where one is missing."""
        return {k: files[self.path(k).relative_to(root).as_posix()][1] for k in range(self.count)}

    def entry(self, k: int, checksum: int) -> dict[Path, tuple[int, int]]:
        """The file of chunk k with its (size, crc32c), once all of it is written."""
        return {self.path(k): (self.size, checksum)}

    def read(self, k: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Read chunk k past the page cache: shape (elements,). Nothing is compared. Raises RunError."""
        dtype = np.dtype(dtype)
        flat = empty_for_range(dtype, 0, self.size // dtype.itemsize)
        read_range(self.path(k), 0, flat.view(np.uint8))
        return flat

    def blocks(self, k: int, most: int) -> Iterator[tuple[int, Bytes]]:
        """Read chunk k's file in blocks of at most ``most`` bytes; yield (bytes after the block, block). Nothing is compared."""
        path = self.path(k)
        size = path.stat().st_size
        for at in range(0, size, most):
            part = np.empty(min(most, size - at), np.uint8)
            read_range(path, at, part)
            yield size - at - len(part), part

    @contextmanager
    def creating(self, k: int) -> Iterator[Callable[[Bytes], object]]:
        """Make chunk k's file anew: yield a function that appends bytes to it. Nothing is synced. Raises OSError."""
        with open(self.path(k), "wb") as file:
            yield lambda data: file.write(data.data)

    @contextmanager
    def replacing(self, k: int) -> Iterator[Callable[[Bytes], object]]:
        """Do as `creating`, but leave the file as it was, with what is linked to it, until all of the new one is there."""
        path = self.path(k)
        temporary = path.with_name(f".{path.name}.tmp")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(temporary, "wb") as file:
                yield lambda data: file.write(data.data)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def share(self, k: int, other: Chunks) -> None:
        """Make chunk k the same file as that of another array: a hard link, or a copy where there are none. Raises OSError."""
        self.path(k).parent.mkdir(parents=True, exist_ok=True)
        self.path(k).unlink(missing_ok=True)  # a new table has empty files
        link(other.path(k), self.path(k))


def chunk_folder(array: Path) -> Path:
    """The folder of an array's chunk files."""
    return array / CHUNKS


def chunk_path(array: Path, k: int, rows: bool) -> Path:
    """The file of chunk k of an array: of a table of ``rows``, or of a one-dimensional array."""
    path = chunk_folder(array) / str(k)
    return path / "0" if rows else path


def first_damaged(table: Path, checksums: Mapping[int, int]) -> Path | None:
    """The first chunk file of the rows in the folder ``table`` that is missing or differs from its CRC-32C. Raises RunError."""
    for k, expected in checksums.items():
        file = chunk_path(table, k, rows=True)
        if not file.exists() or file_checksum(file, file.stat().st_size) != expected:
            return file
    return None
