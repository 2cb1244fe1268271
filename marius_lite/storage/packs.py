"""Packs of rows in a temporary file: the rows that a batch needs lie side by side, so that one read brings them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkstemp

import numpy as np
import numpy.typing as npt

from marius_lite._native import crc32c
from marius_lite.errors import RunError
from marius_lite.files import disk_errors

Records = npt.NDArray[np.float32]
"""Rows as they are stored, whatever their numbers are: a row of S bytes is seen as S / 4 float32. (rows, S / 4)."""
PREFIX = ".packs-"


class Packs:
    """Packs of known sizes, filled piece after piece. Their file has no name, so that no crash leaves it behind.

    ``folder``: where the file's disk space is taken. ``rows``: how many rows each pack has. ``stride``: bytes of a row. All the
    space is taken at once. Raises RunError, also where the disk is full.
    """

    def __init__(self, folder: Path, rows: Sequence[int], stride: int):
        self._folder, self._stride = folder, stride
        sizes = np.array(rows, np.int64) * stride
        self._starts: list[int] = [0, *np.cumsum(sizes).tolist()]
        self._filled = self._starts[:-1]
        self._checksums = [0] * len(rows)
        with disk_errors(folder):
            self._descriptor, name = mkstemp(dir=folder, prefix=PREFIX)
            try:
                os.unlink(name)
                if self._starts[-1]:
                    os.posix_fallocate(self._descriptor, 0, self._starts[-1])
            except BaseException:
                os.close(self._descriptor)
                raise

    def append(self, pack: int, rows: Records) -> None:
        """Write ``rows`` behind those that a pack has already. Raises RunError."""
        data = rows.view(np.uint8).reshape(-1)
        with disk_errors(self._folder):
            done = 0
            while done < len(data):
                done += os.pwrite(self._descriptor, data[done:].data, self._filled[pack] + done)
        self._filled[pack] += done
        self._checksums[pack] = crc32c(data, self._checksums[pack])

    def read_into(self, pack: int, out: Records) -> None:
        """Read a pack that is full into ``out``. Raises RunError, also where its bytes are no longer those that were written."""
        data = out.view(np.uint8).reshape(-1)
        with disk_errors(self._folder):
            done = 0
            while done < len(data):
                got = os.preadv(self._descriptor, [data[done:].data], self._starts[pack] + done)
                if not got:
                    break
                done += got
        if done < len(data) or self._filled[pack] != self._starts[pack + 1] or crc32c(data) != self._checksums[pack]:
            raise RunError(
                f"{self._folder}: rows in a temporary file were changed since they were written: the disk or the memory fails. "
                "`marius-lite resume` goes on from the last checkpoint"
            )

    def close(self) -> None:
        """Give the disk space back. A second call does nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
