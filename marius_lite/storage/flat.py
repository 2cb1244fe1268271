"""Read ranges of one-dimensional arrays, past the page cache."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.storage.chunks import Chunks, chunk_path
from marius_lite.storage.engine import empty_for_range, read_range
from marius_lite.storage.metadata import DOCUMENT, read_description


@dataclass(frozen=True, slots=True)
class FlatArray:
    """A one-dimensional Zarr v3 array with raw little-endian chunks of ``chunk`` elements."""

    path: Path
    length: int
    chunk: int
    dtype: np.dtype[Any]

    @property
    def chunks(self) -> Chunks:
        return Chunks(self.path, -(-self.length // self.chunk), self.chunk * self.dtype.itemsize)


def open_flat(path: Path) -> FlatArray:
    """Open the array at ``path``. Raises UserError where it is no raw one-dimensional Zarr v3 array."""
    document = path / DOCUMENT
    try:
        return _parse_flat(path, document.stat().st_mtime_ns)
    except FileNotFoundError:
        raise UserError(f"{document}: not found: the dataset is incomplete, make it again") from None


@lru_cache(maxsize=256)
def _parse_flat(path: Path, _modified: int) -> FlatArray:
    found = read_description(path)
    if not found.raw or len(found.shape) != 1:
        raise UserError(f"{path}: found shape {found.shape}, expected one dimension and no compression")
    return FlatArray(path, found.shape[0], found.chunks[0], found.dtype)


def read_array_range(
    path: Path, start: int, stop: int, out: npt.NDArray[Any] | None = None, direct: bool = True
) -> npt.NDArray[Any]:
    """Read elements [start, stop) of the one-dimensional Zarr array at ``path``, past the page cache.

    ``out``: contiguous, shape (stop - start,), of the array's dtype; without it an array is made. Raises ValueError for
    a range outside the array, RunError for files that cannot be read or are too short.
    """
    array = open_flat(path)
    if not 0 <= start <= stop <= array.length:
        raise ValueError(f"{path}: range [{start}, {stop}) is not inside [0, {array.length})")
    if out is None:
        out = empty_for_range(array.dtype, start, stop)
    if out.shape != (stop - start,) or out.dtype != array.dtype:
        raise ValueError(f"{path}: out has shape {out.shape} and dtype {out.dtype}, expected ({stop - start},) and {array.dtype}")
    size = array.dtype.itemsize
    target = out.view(np.uint8)
    for index in range(start // array.chunk, -(-stop // array.chunk) if stop > start else 0):
        base = index * array.chunk
        first, last = max(start, base), min(stop, base + array.chunk)
        part = target[(first - start) * size : (last - start) * size]
        read_range(chunk_path(path, index, rows=False), (first - base) * size, part, direct)
    return out
