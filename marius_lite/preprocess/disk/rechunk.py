"""The chunk files of an array, cut anew: what is one row after the other stays so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from marius_lite._native import crc32c
from marius_lite.errors import UserError
from marius_lite.preprocess.disk.passes import Files
from marius_lite.storage.engine import read_range

PIECE = 4 << 20
Bytes = npt.NDArray[np.uint8]


def rechunk(old: Mapping[Path, int], new: Sequence[Path], chunk_bytes: int, total: int) -> Files:
    """The first ``total`` bytes of the files ``old``, one after the other, into files ``new`` of ``chunk_bytes`` each, the last
    of which is filled up with zeros. ``old``: the CRC-32C of each. Returns (size, crc32c) of the new ones.

    Takes a few MiB. Raises UserError where an old file is not what it was.
    """
    written, data, piece = {}, _read(old, total), np.empty(0, np.uint8)
    for path in new:
        left, checksum = chunk_bytes, 0
        with open(path, "wb") as out:
            while left:
                while not len(piece):
                    piece = next(data, np.zeros(min(left, PIECE), np.uint8))
                part, piece = piece[:left], piece[left:]
                out.write(part.data)
                checksum = crc32c(part, checksum)
                left -= len(part)
        written[path] = (chunk_bytes, checksum)
    return written


def _read(old: Mapping[Path, int], total: int) -> Iterator[Bytes]:
    for path, expected in old.items():
        size, checksum = path.stat().st_size, 0
        for at in range(0, size, PIECE):
            part = np.empty(min(PIECE, size - at), np.uint8)
            read_range(path, at, part)
            checksum = crc32c(part, checksum)
            if at + len(part) == size and checksum != expected:
                raise UserError(f"{path}: does not match its checksum, the dataset was changed: make it again with "
                                "`marius-lite preprocess`")
            yield part[: max(0, total)]
            total -= len(part)
