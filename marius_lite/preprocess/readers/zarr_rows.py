"""Rows of numbers of a two-dimensional Zarr array."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from marius_lite._native import crc32c
from marius_lite.errors import UserError
from marius_lite.files import reading
from marius_lite.preprocess.readers.number_rows import Rows, is_number
from marius_lite.preprocess.readers.source import checksum_of

METADATA = ("zarr.json", ".zarray")
ADVICE = "name the folder of a two-dimensional Zarr array of numbers, a row for each node"


class ZarrRows:
    """A folder with an array of any Zarr version. ``together``: the rows of a chunk. Who reads so many at a time decompresses
    each chunk once."""

    def __init__(self, path: Path):
        import zarr  # takes a third of a second
        from zarr.errors import NodeTypeValidationError

        self.path, self.name = path, str(path)
        self._checksum = 0
        if not any((path / name).exists() for name in METADATA):
            raise UserError(f"{path}: a folder, and no Zarr array: {ADVICE}")
        with reading(path):
            try:
                self._array = zarr.open_array(path, mode="r")
            except NodeTypeValidationError:
                raise UserError(f"{path}: a folder, and no Zarr array: {ADVICE}") from None
            shape, self.dtype = self._array.shape, np.dtype(self._array.dtype)
        if len(shape) != 2 or min(shape) < 1 or not is_number(self.dtype):
            raise UserError(f"{path}: an array of {self.dtype}, shape {shape}: {ADVICE}")
        self.rows, self.width = int(shape[0]), int(shape[1])
        self.together = int(self._array.chunks[0])

    def _files(self) -> list[Path]:
        return sorted(path for path in self.path.rglob("*") if path.is_file())

    @property
    def size(self) -> int:
        return sum(path.stat().st_size for path in self._files())

    @property
    def checksum(self) -> int:
        """The crc32c of the checksums of all files, in the order of their names."""
        if not self._checksum:
            sums = np.array([checksum_of(path, lambda _: None) for path in self._files()], "<u4")
            self._checksum = crc32c(sums.view(np.uint8))
        return self._checksum

    def row_cost(self) -> int:
        return 3 * self.width * self.dtype.itemsize  # compressed, decompressed, as rows

    def blocks(self, rows: int) -> Iterator[tuple[int, Rows]]:
        for first in range(0, self.rows, rows):
            with reading(self.path):
                block = np.asarray(self._array[first : first + rows])
            yield first, block
