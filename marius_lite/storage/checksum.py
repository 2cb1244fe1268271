"""Compute the checksum of a file, which is read a block at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from marius_lite._native import crc32c
from marius_lite.storage.engine import read_range

CHECK_BLOCK = 16 << 20


def file_checksum(path: Path, size: int, progress: Callable[[int], object] = lambda _: None) -> int:
    """The CRC-32C of a file's first ``size`` bytes, read past the page cache. Calls ``progress`` with the bytes of each block."""
    checksum = 0
    block = np.empty(min(size, CHECK_BLOCK), np.uint8)
    for start in range(0, size, CHECK_BLOCK):
        part = block[: min(CHECK_BLOCK, size - start)]
        read_range(path, start, part)
        checksum = crc32c(part, checksum)
        progress(len(part))
    return checksum
