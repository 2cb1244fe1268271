"""Read ranges of files past the page cache; find out what the machine supports."""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import marius_lite._native as _native
from marius_lite.config import machine
from marius_lite.errors import RunError
from marius_lite.files import disk_error

BLOCK = 4096  # alignment of direct I/O


def probe(directory: Path) -> dict[str, bool | int]:
    """Find out what works in ``directory`` and on this machine, by trying.

    direct_io, hard_links, huge_pages, crc32c_instruction (bool); memory_total, memory_available, memory_limit
    (bytes; the limit is the container's, or the total where there is none).
    """
    found: dict[str, bool | int] = _native.probe(str(directory))
    total = int(found["memory_total"])
    found.pop("memory_free")
    found["memory_available"] = machine.available_memory()
    found["memory_limit"] = min(total, machine.memory_limit())
    return found


def empty_for_range(dtype: np.dtype[Any], start: int, stop: int, own_pages: bool = False) -> npt.NDArray[Any]:
    """An uninitialised array for elements [start, stop) of a file, aligned to disk blocks as they are in the file.

    Direct reads into it need a copy only at the ends, where chunk files begin at whole blocks of the array. ``own_pages``: it
    shares no page of memory with other data, so that it can be pinned.
    """
    size = (stop - start) * dtype.itemsize
    return _aligned(own_pages_of(size + BLOCK) if own_pages else np.empty(size + BLOCK, np.uint8), dtype, start, stop)


class RangeRoom:
    """Memory for one range of a file after another. Fresh memory for each costs the system more than reading does."""

    def __init__(self) -> None:
        self._room = np.empty(0, np.uint8)

    def empty_for_range(self, dtype: np.dtype[Any], start: int, stop: int) -> npt.NDArray[Any]:
        """Return what the function of this name does. The array of the call before is overwritten."""
        size = (stop - start) * dtype.itemsize + BLOCK
        if len(self._room) < size:
            self._room = np.empty(size, np.uint8)
        return _aligned(self._room, dtype, start, stop)


def _aligned(room: npt.NDArray[np.uint8], dtype: np.dtype[Any], start: int, stop: int) -> npt.NDArray[Any]:
    """Return where in ``room`` elements [start, stop) of a file lie as they do in its blocks."""
    shift = (start * dtype.itemsize - room.ctypes.data) % BLOCK
    return room[shift : shift + (stop - start) * dtype.itemsize].view(dtype)


def own_pages_of(size: int) -> npt.NDArray[np.uint8]:
    """Return so many bytes, all 0, in memory pages of their own. They are given back with the array."""
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # shared memory would get no huge pages
    with suppress(OSError):  # huge pages, where the system has them, as large arrays have
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8)


def read_range(path: Path, offset: int, out: npt.NDArray[np.uint8], direct: bool = True) -> None:
    """Fill ``out`` with the bytes of ``path`` from ``offset`` on. Raises RunError, which names file, offset and reason."""
    try:
        _native.read_file_range(os.fspath(path), offset, out, direct)
    except OSError as error:
        raise disk_error(error, path) from error
    except RuntimeError as error:
        raise RunError(str(error)) from error
