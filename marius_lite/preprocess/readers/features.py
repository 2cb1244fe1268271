"""Node features as a two-dimensional array of numbers, read in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.preprocess.readers.array_file import ArrayFile

Rows = npt.NDArray[Any]
KEPT = (np.dtype(np.float16), np.dtype(np.float32))
USUAL = ("features", "feat", "x")
ADVICE = "save a two-dimensional array of numbers, a row for each node, with numpy.save"


class FeatureFile:
    """An opened feature file of ``rows`` x ``width`` numbers; ``dtype`` is what they become: float16 stays, all else is float32.

    ``checksum``: the crc32c of the file's bytes, known when `blocks` has ended. Raises UserError for a file that holds anything
    else than one two-dimensional array of numbers, row after row.
    """

    def __init__(self, path: Path):
        self._array = ArrayFile(path, ADVICE, USUAL)
        self.path, self.source_dtype, self.size = self._array.path, self._array.dtype, self._array.size
        shape = self._array.shape
        known = self.source_dtype.kind in "biu" or (self.source_dtype.kind == "f" and self.source_dtype.itemsize <= 8)
        if len(shape) != 2 or min(shape) < 1 or not known:
            raise UserError(f"{self._array.name}: an array of {self.source_dtype}, shape {shape}: {ADVICE}")
        if self._array.by_column:
            raise UserError(f"{self._array.name}: stored column after column (Fortran order): save "
                            "numpy.ascontiguousarray(array)")
        self.rows, self.width = int(shape[0]), int(shape[1])
        native = self.source_dtype.newbyteorder("=")
        self.dtype: np.dtype[Any] = native if native in KEPT else np.dtype(np.float32)

    @property
    def checksum(self) -> int:
        return self._array.checksum

    def row_cost(self) -> int:
        """Bytes of memory that `blocks` takes for each row: as stored in the file, converted, and being checked."""
        converted = 0 if self.source_dtype == self.dtype else self.dtype.itemsize
        return self.width * (self.source_dtype.itemsize + converted + 1)

    def blocks(self, rows: int) -> Iterator[tuple[int, Rows]]:
        """(first row, rows as ``dtype``), from front to back, ``rows`` at a time. UserError for a number that is not finite."""
        for first, block in self._array.blocks(rows):
            converted = self._converted(block, first)
            del block  # the next one comes before the loop lets go of this one
            yield first, converted
            del converted

    def _converted(self, block: Rows, first: int) -> Rows:
        with np.errstate(over="ignore"):
            converted = block.astype(self.dtype, copy=False)
        finite = np.isfinite(converted)
        if not finite.all():
            row, column = np.unravel_index(int(finite.argmin()), finite.shape)
            raise UserError(f"{self._array.name}: row {first + row}, column {column}: {block[row, column]}: every feature must "
                            f"be a finite {self.dtype}: replace the value")
        return converted
