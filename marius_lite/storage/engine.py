"""Read ranges of one-dimensional arrays past the page cache; find out what the machine supports."""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import marius_lite._native as _native
from marius_lite.config import machine
from marius_lite.errors import RunError, UserError
from marius_lite.files import disk_error, read_json

BLOCK = 4096  # alignment of direct I/O


def probe(directory: Path) -> dict[str, bool | int]:
    """Try what works in ``directory`` and on this machine, each once.

    direct_io, hard_links, huge_pages, crc32c_instruction (bool); memory_total, memory_available, memory_limit
    (bytes; the limit is the container's, or the total where there is none).
    """
    found: dict[str, bool | int] = _native.probe(str(directory))
    total = int(found["memory_total"])
    found.pop("memory_free")
    found["memory_available"] = machine.available_memory()
    found["memory_limit"] = min(total, machine.memory_limit())
    return found


@dataclass(frozen=True, slots=True)
class FlatArray:
    """A one-dimensional Zarr v3 array with raw little-endian chunks: where its elements lie."""

    path: Path
    length: int
    chunk: int
    dtype: np.dtype[Any]

    def chunk_path(self, index: int) -> Path:
        return self.path / "c" / str(index)


def open_flat(path: Path) -> FlatArray:
    """Describe the array at ``path``. Raises UserError when it is no raw one-dimensional Zarr v3 array."""
    document = path / "zarr.json"
    try:
        return _parse_flat(path, document.stat().st_mtime_ns)
    except FileNotFoundError:
        raise UserError(f"{document}: not found: the dataset is incomplete, make it again") from None


@lru_cache(maxsize=256)
def _parse_flat(path: Path, _modified: int) -> FlatArray:
    found = read_json(path / "zarr.json")
    codecs = [codec["name"] for codec in found["codecs"]]
    if codecs != ["bytes"] or len(found["shape"]) != 1:
        raise UserError(f"{path}: found shape {found['shape']} and codecs {codecs}, "
                        "expected one dimension and no compression")
    dtype = np.dtype(found["data_type"]).newbyteorder("<")
    return FlatArray(path, found["shape"][0], found["chunk_grid"]["configuration"]["chunk_shape"][0], dtype)


def read_array_range(path: Path, start: int, stop: int, out: npt.NDArray[Any] | None = None,
                     direct: bool = True) -> npt.NDArray[Any]:
    """Read elements [start, stop) of the one-dimensional Zarr array at ``path``, past the page cache.

    ``out``: contiguous, shape (stop - start,), of the array's dtype, made when absent. Raises ValueError for
    a range outside the array, RunError for files that cannot be read or are too short.
    """
    array = open_flat(path)
    if not 0 <= start <= stop <= array.length:
        raise ValueError(f"{path}: range [{start}, {stop}) is not inside [0, {array.length})")
    if out is None:
        out = empty_for_range(array.dtype, start, stop)
    if out.shape != (stop - start,) or out.dtype != array.dtype:
        raise ValueError(f"{path}: out has shape {out.shape} and dtype {out.dtype}, "
                         f"expected ({stop - start},) and {array.dtype}")
    size = array.dtype.itemsize
    target = out.view(np.uint8)
    for index in range(start // array.chunk, -(-stop // array.chunk) if stop > start else 0):
        base = index * array.chunk
        first, last = max(start, base), min(stop, base + array.chunk)
        part = target[(first - start) * size : (last - start) * size]
        read_range(array.chunk_path(index), (first - base) * size, part, direct)
    return out


def empty_for_range(dtype: np.dtype[Any], start: int, stop: int, own_pages: bool = False) -> npt.NDArray[Any]:
    """Room for elements [start, stop) that lie in memory as in their file, relative to a disk block.

    Direct reads into it need no copy, but for the ends, where chunk files begin at whole blocks of the array. ``own_pages``: it
    shares no page of memory with anything else, so that it can be pinned.
    """
    size = (stop - start) * dtype.itemsize
    room = _own_pages(size + BLOCK) if own_pages else np.empty(size + BLOCK, np.uint8)
    shift = (start * dtype.itemsize - room.ctypes.data) % BLOCK
    return room[shift : shift + size].view(dtype)


def _own_pages(size: int) -> npt.NDArray[np.uint8]:
    memory = mmap.mmap(-1, size)
    with suppress(OSError):  # huge pages, where the system has them, as large arrays have
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8)


def read_range(path: Path, offset: int, out: npt.NDArray[np.uint8], direct: bool = True) -> None:
    """Fill ``out`` with the bytes of ``path`` from ``offset``. RunError names file, offset and reason."""
    try:
        _native.read_file_range(os.fspath(path), offset, out, direct)
    except OSError as error:
        raise disk_error(error, path) from error
    except RuntimeError as error:
        raise RunError(str(error)) from error
