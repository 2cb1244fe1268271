"""Node features as a two-dimensional .npy array, read in blocks of rows past the page cache.

Only the header is interpreted by numpy: a memory map would count every page that was touched as this process's memory, and end
it with a signal where the file is cut while it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
import numpy.lib.format as npy
import numpy.typing as npt

from marius_lite._native import crc32c
from marius_lite.errors import UserError
from marius_lite.preprocess.readers.source import magic_of, reading
from marius_lite.storage.engine import read_range

Rows = npt.NDArray[Any]
KEPT = (np.dtype(np.float16), np.dtype(np.float32))
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
ADVICE = "save a two-dimensional array of numbers, a row for each node, with numpy.save"


class FeatureFile:
    """An opened feature file of ``rows`` x ``width`` numbers; ``dtype`` is what they become: float16 stays, all else is float32.

    ``checksum``: the crc32c of the file's bytes, known when `blocks` has ended. Raises UserError for a file that holds anything
    else than one two-dimensional array of numbers, row after row.
    """

    def __init__(self, path: Path):
        self.path = path
        if (found := magic_of(path)) != "npy":
            raise UserError(f"{path}: not a .npy file (it looks like {found}): {ADVICE}")
        with reading(path), path.open("rb") as file:
            shape, by_column, self.source_dtype = self._header(file)
            self._start = file.tell()
        if self.source_dtype.hasobject:
            raise UserError(f"{path}: holds pickled Python objects, which are not read: {ADVICE}")
        known = self.source_dtype.kind in "biu" or (self.source_dtype.kind == "f" and self.source_dtype.itemsize <= 8)
        if len(shape) != 2 or min(shape) < 1 or not known:
            raise UserError(f"{path}: an array of {self.source_dtype}, shape {shape}: {ADVICE}")
        if by_column and min(shape) > 1:
            raise UserError(f"{path}: stored column after column (Fortran order): save numpy.ascontiguousarray(array)")
        self.rows, self.width = int(shape[0]), int(shape[1])
        native = self.source_dtype.newbyteorder("=")
        self.dtype: np.dtype[Any] = native if native in KEPT else np.dtype(np.float32)
        self.size = self._start + self.rows * self.width * self.source_dtype.itemsize
        if (size := path.stat().st_size) != self.size:
            what = "cut short" if size < self.size else "something follows the array"
            raise UserError(f"{path}: {size} bytes where shape {shape} of {native} makes {self.size}: {what}: get the file again")
        self.checksum = 0

    def _header(self, file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
        try:
            version = npy.read_magic(file)
            if version not in HEADERS:
                raise ValueError(f"format version {version}")
            return HEADERS[version](file)
        except (ValueError, SyntaxError, TokenError) as error:
            raise UserError(f"{self.path}: not a readable .npy array ({str(error).splitlines()[0]}): {ADVICE}") from error

    def row_cost(self) -> int:
        """Bytes of memory that `blocks` takes for each row: as stored in the file, converted, and being checked."""
        converted = 0 if self.source_dtype == self.dtype else self.dtype.itemsize
        return self.width * (self.source_dtype.itemsize + converted + 1)

    def blocks(self, rows: int) -> Iterator[tuple[int, Rows]]:
        """(first row, rows as ``dtype``), from front to back, ``rows`` at a time. UserError for a number that is not finite."""
        self.checksum = 0
        self._read(0, np.empty(self._start, np.uint8))
        for first in range(0, self.rows, rows):
            yield first, self._rows(first, min(rows, self.rows - first))

    def _rows(self, first: int, count: int) -> Rows:
        block = np.empty((count, self.width), self.source_dtype)
        self._read(self._start + first * self.width * self.source_dtype.itemsize, block.view(np.uint8).reshape(-1))
        return self._converted(block, first)

    def _read(self, offset: int, out: npt.NDArray[np.uint8]) -> None:
        read_range(self.path, offset, out)
        self.checksum = crc32c(out, self.checksum)

    def _converted(self, block: Rows, first: int) -> Rows:
        with np.errstate(over="ignore"):
            converted = block.astype(self.dtype, copy=False)
        finite = np.isfinite(converted)
        if not finite.all():
            row, column = np.unravel_index(int(finite.argmin()), finite.shape)
            raise UserError(f"{self.path}: row {first + row}, column {column}: {block[row, column]}: every feature must be a "
                            f"finite {self.dtype}: replace the value")
        return converted
