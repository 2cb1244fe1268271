"""Keep what a batch will need in temporary files: its rows side by side, so that one read brings them, and its sample.

Files have no name, so that no crash leaves them behind. Whatever is read is compared with a checksum first.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import crc32c
from marius_lite.errors import RunError
from marius_lite.files import disk_errors

Bytes = npt.NDArray[np.uint8]
Records = npt.NDArray[np.float32]
"""Rows as they are stored, whatever their numbers are: a row of S bytes is seen as S / 4 float32. (rows, S / 4)."""
PREFIX = ".packs-"
ALIGNED = 64
"""Arrays of an object begin at multiples of this."""


def scratch_beside(path: Path) -> Path:
    """Return where temporary files may be: beside ``path``, where one may write there, else where the system has them."""
    beside = path.absolute().parent
    return beside if os.access(beside, os.W_OK) else Path(gettempdir())


class ScratchFile:
    """A file without a name in ``folder``, of which ``size`` bytes are taken at once. Raises RunError, also for a full disk."""

    def __init__(self, folder: Path, size: int = 0):
        self._folder = folder
        self._size = 0
        with disk_errors(folder), TemporaryFile(dir=folder, prefix=PREFIX, buffering=0) as file:
            self._descriptor = os.dup(file.fileno())
        try:
            self.resize(size)
        except RunError:
            self.close()
            raise

    def resize(self, size: int) -> None:
        """Take ``size`` bytes, which may hold anything. Those taken before stay in the system's memory. Raises RunError."""
        with disk_errors(self._folder):
            if size < self._size:
                os.ftruncate(self._descriptor, size)
            elif size > self._size:
                os.posix_fallocate(self._descriptor, 0, size)
        self._size = size

    def write(self, data: Bytes, at: int) -> None:
        """Write bytes from ``at`` on. Raises RunError."""
        with disk_errors(self._folder):
            done = 0
            while done < len(data):
                done += os.pwrite(self._descriptor, data[done:].data, at + done)

    def read(self, at: int, out: Bytes, checksum: int) -> None:
        """Fill ``out`` with the bytes from ``at`` on. Raises RunError, also where they have another CRC-32C."""
        done = 0
        with disk_errors(self._folder):
            while done < len(out) and (got := os.preadv(self._descriptor, [out[done:].data], at + done)):
                done += got
        if done < len(out) or crc32c(out) != checksum:
            raise RunError(
                f"{self._folder}: a temporary file was changed since it was written: the disk or the memory fails. "
                "`marius-lite resume` goes on from the last checkpoint"
            )

    def close(self) -> None:
        """Give the disk space back. A second call does nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


class Packs:
    """Packs of known sizes, filled piece after piece. ``rows``: how many each has, of ``stride`` bytes. Raises RunError.

    ``file``: what earlier packs had (`take_file`); to write over its pages takes less than to get others from the system.
    """

    def __init__(self, folder: Path, rows: Sequence[int], stride: int, file: ScratchFile | None = None):
        self._starts: list[int] = [0, *np.cumsum(np.array(rows, np.int64) * stride).tolist()]
        self._filled, self._checksums = self._starts[:-1], [0] * len(rows)
        self._file = ScratchFile(folder) if file is None else file
        try:
            self._file.resize(self._starts[-1])
        except RunError:
            self.close()
            raise

    def append(self, pack: int, rows: Records) -> None:
        """Write ``rows`` behind those that a pack has already. Raises RunError."""
        data = rows.view(np.uint8).reshape(-1)
        self._file.write(data, self._filled[pack])
        self._filled[pack] += len(data)
        self._checksums[pack] = crc32c(data, self._checksums[pack])

    def read_into(self, pack: int, out: Records) -> None:
        """Read a pack that is full into ``out``. Raises RunError."""
        assert self._filled[pack] == self._starts[pack] + out.nbytes == self._starts[pack + 1]
        self._file.read(self._starts[pack], out.view(np.uint8).reshape(-1), self._checksums[pack])

    def take_file(self) -> ScratchFile:
        """Return the file, for other packs. These ones are not used any more."""
        return self._file

    def close(self) -> None:
        self._file.close()


@dataclass(frozen=True, slots=True)
class Kept:
    """An object in a file: ``pickled`` but for its arrays, whose bytes are ``lengths``; they stand in [start, start + size)."""

    pickled: bytes
    lengths: tuple[int, ...]
    start: int
    size: int
    checksum: int


class KeptObjects:
    """Objects whose arrays are in a temporary file in ``folder``. ``size``: bytes of all so far. Raises RunError."""

    def __init__(self, folder: Path):
        self._file, self.size = ScratchFile(folder), 0

    def keep(self, whole: object) -> Kept:
        """Write an object. Raises RunError."""
        buffers: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(whole, protocol=5, buffer_callback=buffers.append)
        arrays = [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers]
        lengths = tuple(len(array) for array in arrays)
        places, size = _places(lengths)
        start, checksum = self.size, 0
        for at, array, after in zip(places, arrays, [*places[1:], size]):
            for part, place in ((array, at), (np.zeros(after - at - len(array), np.uint8), at + len(array))):
                self._file.write(part, start + place)
                checksum = crc32c(part, checksum)
        self.size += size
        return Kept(pickled, lengths, start, size, checksum)

    def read(self, kept: Kept) -> Any:
        """Return an object that was kept, with arrays of its own. Raises RunError."""
        data = np.empty(kept.size, np.uint8)
        self._file.read(kept.start, data, kept.checksum)
        places, _ = _places(kept.lengths)
        return pickle.loads(kept.pickled, buffers=[data[at : at + size] for at, size in zip(places, kept.lengths)])

    def close(self) -> None:
        self._file.close()


def _places(lengths: Sequence[int]) -> tuple[list[int], int]:
    """Return where arrays of these lengths stand one after another, and where the last one ends."""
    ends = np.cumsum([-(-size // ALIGNED) * ALIGNED for size in lengths], dtype=np.int64)
    return [0, *ends[:-1].tolist()][: len(lengths)], int(ends[-1]) if len(lengths) else 0
