"""How fast a folder's disk reads and writes in sequence, past the page cache. Standard library only."""

from __future__ import annotations

import mmap
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PIECE = 8 << 20  # bytes a call: more than any disk needs to reach its rate


def rates(folder: Path, size: int = 1 << 30, repetitions: int = 5) -> tuple[float, float]:
    """Bytes a second that are read and written: medians, of a temporary file of ``size`` bytes in ``folder``."""
    handle, name = tempfile.mkstemp(dir=folder, prefix="disk-rate-")
    os.close(handle)
    piece = mmap.mmap(-1, PIECE)  # begins at a page, as O_DIRECT asks
    piece.write(os.urandom(PIECE))  # so that no disk can make it smaller
    try:
        written = _median(name, os.O_WRONLY, size, repetitions, lambda disk: os.write(disk, piece))
        read = _median(name, os.O_RDONLY, size, repetitions, lambda disk: os.readv(disk, [piece]))
    finally:
        os.unlink(name)
    return read, written


def _median(name: str, flags: int, size: int, repetitions: int, one: Callable[[int], int]) -> float:
    found = []
    for _ in range(repetitions):
        disk = os.open(name, flags | os.O_DIRECT)
        try:
            started = time.perf_counter()
            done = 0
            while done < size:
                moved = one(disk)
                if moved <= 0:
                    raise OSError(f"{name}: {done} of {size} bytes moved")
                done += moved
            os.fsync(disk)
            found.append(done / (time.perf_counter() - started))
        finally:
            os.close(disk)
    return statistics.median(found)
