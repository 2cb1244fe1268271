"""Measure how fast a dataset's own files are read, and how fast rows are put into packs and come back."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from marius_lite._native import crc32c, gather
from marius_lite.storage.engine import probe
from marius_lite.storage.packs import Packs
from marius_lite.storage.table import SPAN_BYTES, RowTable

SECONDS = 0.4
"""How long files are read, at most; and packs written and read."""
MOST_READ, PACKED = 512 << 20, 32 << 20
"""Bytes that are read, at most, and put into a pack."""
MOST_PARTS = 1 << 9
"""Parts that are put into a pack, at most: where rows are few and narrow, ever more of them say no more."""


@dataclass(frozen=True)
class DiskRates:
    """``read``: bytes a second of the features' files, compared with their checksum on the way. ``direct``: whether this goes
    past the page cache; if not, it may have had them. ``pack``: seconds for a byte to come into a pack. ``unpack``: and back.

    Of caches below, in a disk or in the host of a virtual machine, nothing is known.
    """

    read: float
    direct: bool
    pack: float
    unpack: float


def disk_rates(table: RowTable, folder: Path) -> DiskRates:
    """Measure. ``folder``: where a temporary file of about `PACKED` bytes may be. Raises RunError."""
    pack, unpack = _pack_rates(table, folder)
    return DiskRates(_read_rate(table), bool(probe(folder)["direct_io"]), pack, unpack)


def _read_rate(table: RowTable) -> float:
    """Return the bytes a second of blocks of one partition after another, as packing reads them."""
    rows, done, start = max(1, min(SPAN_BYTES // table.stride, table.rows_per_partition)), 0, time.perf_counter()
    for k in range(table.partitions):
        for first in range(0, table.rows_per_partition, rows):
            block = table.read_block(k, first, min(first + rows, table.rows_per_partition))
            crc32c(block.view(np.uint8).reshape(-1))
            done += block.nbytes
            if time.perf_counter() - start > SECONDS or done >= MOST_READ:
                return done / (time.perf_counter() - start)
    return done / (time.perf_counter() - start)


def _pack_rates(table: RowTable, folder: Path) -> tuple[float, float]:
    """Return the seconds for a byte of rows to be taken out of a block and written, and to be read back."""
    rows = table.read_block(0, 0, max(1, min(SPAN_BYTES // table.stride, table.rows_per_partition))).view(np.float32)
    taken = np.sort(np.random.default_rng(0).integers(len(rows), size=max(1, len(rows) // 4)))
    part = np.empty((len(taken), rows.shape[1]), np.float32)
    times = min(max(1, PACKED // part.nbytes), MOST_PARTS)
    with closing(Packs(folder, [times * len(taken)], table.stride)) as packs:
        start = time.perf_counter()
        for _ in range(times):
            gather(rows, taken, part, 1)
            packs.append(0, part)
        written = time.perf_counter() - start
        out, start = np.empty((times * len(taken), rows.shape[1]), np.float32), time.perf_counter()
        packs.read_into(0, out)
        read = time.perf_counter() - start
    return written / out.nbytes, read / out.nbytes
