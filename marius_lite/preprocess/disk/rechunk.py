"""The chunk files of an array, cut at other places. Rows stay in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from marius_lite._native import crc32c
from marius_lite.errors import UserError
from marius_lite.preprocess.disk.passes import Files
from marius_lite.storage.chunks import Chunks

BYTES_AT_ONCE = 4 << 20
Bytes = npt.NDArray[np.uint8]


def rechunk(old: Chunks, checksums: Mapping[int, int], new: Chunks, total: int) -> Files:
    """Write the first ``total`` bytes of the chunks ``old``, one after the other, into the chunks ``new``.

    The last new chunk is filled up with zeros. ``checksums``: the crc32c of each old one. Returns (size, crc32c) of the new
    files. Takes a few MiB of memory. Raises UserError where an old file does not match its checksum.
    """
    written, data, piece = Files(), _read(old, checksums, total), np.empty(0, np.uint8)
    for k in range(new.count):
        left, checksum = new.size, 0
        with new.creating(k) as write:
            while left:
                while not len(piece):
                    piece = next(data, np.zeros(min(left, BYTES_AT_ONCE), np.uint8))
                part, piece = piece[:left], piece[left:]
                write(part)
                checksum = crc32c(part, checksum)
                left -= len(part)
        written |= new.entry(k, checksum)
    return written


def _read(old: Chunks, checksums: Mapping[int, int], total: int) -> Iterator[Bytes]:
    for k, expected in checksums.items():
        checksum = 0
        for after, part in old.blocks(k, BYTES_AT_ONCE):
            checksum = crc32c(part, checksum)
            if not after and checksum != expected:
                raise UserError(
                    f"{old.path(k)}: does not match its checksum, the dataset was changed: make it again with "
                    "`marius-lite preprocess`"
                )
            yield part[: max(0, total)]
            total -= len(part)
