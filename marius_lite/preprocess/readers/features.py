"""Node features, as their file has them and as they are stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.graph.feature_types import STORED, FeatureType, Floats, decode, int8_scales, to_int8
from marius_lite.preprocess.readers.feature_rows import open_rows
from marius_lite.preprocess.readers.number_rows import OfRows, Rows
from marius_lite.storage.bfloat16 import to_bfloat16

KEPT = ("float16", "float32")
INFINITE_BFLOAT16 = 0x7F80
LOOKED_AT = 4_096
"""Rows of the first block that are compared with what is stored, at most."""
FEWEST_STEPS = 100
"""Of what the numbers of a column differ by, the part that they may be off by as they are stored."""
MOST_NAMED = 5
"""Columns that lines name, at most."""


class FeatureFile(OfRows):
    """An opened feature file of ``rows`` x ``width`` numbers.

    ``type``: the type they are stored as; "auto" keeps float16 and makes all else float32. ``dtype``: numpy's type that holds it.
    ``checksum``: the crc32c of the file's bytes, known when `blocks` has ended. ``warnings``: of columns whose numbers are hardly
    told apart as they are stored, known when the first block is read. Raises UserError for a file that is not one two-dimensional
    array of numbers.
    """

    def __init__(self, path: Path, type: str = "auto"):
        super().__init__(open_rows(path))
        self.width = self._source.width
        self.source_dtype = self._source.dtype
        native = self.source_dtype.newbyteorder("=").name
        self.type = type if type != "auto" else native if native in KEPT else "float32"
        self.dtype: np.dtype[Any] = STORED[self.type]
        self._scales: Floats | None = None
        self.warnings: list[str] = []

    @property
    def together(self) -> int:
        """Rows that are best read at once."""
        return self._source.together

    def row_cost(self) -> int:
        """Return the bytes of memory that `blocks` takes for each row: as it is read, converted, and checked."""
        converted = 0 if self.source_dtype == self.dtype else self.dtype.itemsize
        worked = 0 if self.type in KEPT else 2 * np.dtype(np.float32).itemsize
        return self._source.row_cost() + self.width * (converted + worked + 1)

    def attributes(self, rows: int) -> dict[str, Any]:
        """Return what a reader must know of stored rows beside their dtype. For int8 the file is read, ``rows`` at a time."""
        if self.type == "int8":
            largest = np.zeros(self.width, np.float32)
            for first, block in self._source.blocks(rows):
                values = self._floats(block, first)
                np.maximum(largest, np.abs(values, out=values).max(0), out=largest)
                del block, values
            self._scales = int8_scales(largest)
            return {"type": self.type, "scales": self._scales.tolist()}
        return {"type": self.type} if self.type not in KEPT else {}

    def blocks(self, rows: int) -> Iterator[tuple[int, Rows]]:
        """Read (first row, rows as ``dtype``) from front to back, ``rows`` at a time. Raises UserError for a number that is not
        finite.

        For int8 `attributes` must have run before."""
        for first, block in self._source.blocks(rows):
            converted = self._stored(block, first)
            if first == 0:
                self.warnings = self._blurred(block, converted)
            del block  # before the loop reads the next one, so that one is in memory
            yield first, converted
            del converted

    def _stored(self, block: Rows, first: int) -> Rows:
        if self.type in KEPT:
            with np.errstate(over="ignore"):
                converted = block.astype(self.dtype, copy=False)
            self._require(np.isfinite(converted), block, first)
            return converted
        values = self._floats(block, first)  # a copy, which may be overwritten
        if self.type == "int8":
            if self._scales is None:
                raise ValueError("attributes() finds the scales and must run first")
            return to_int8(values, self._scales)
        bits = to_bfloat16(values)
        self._require(bits & INFINITE_BFLOAT16 != INFINITE_BFLOAT16, block, first)
        return bits

    def _blurred(self, block: Rows, converted: Rows) -> list[str]:
        """Return a line for each column whose numbers differ by little beside their size, too little for how they are stored."""
        some = slice(None, None, -(-len(block) // LOOKED_AT))
        exact = block[some].astype(np.float64)
        off = np.abs(exact - decode(converted[some], cast(FeatureType, self.type), self._scales)).max(0)
        spread, size = np.ptp(exact, axis=0), np.abs(exact).max(0)
        other = "" if self.type == "float32" else ", or take --feature-dtype float32"
        return [
            f"{self._source.name}: column {c} of the features: numbers up to {size[c]:,.6g} that differ by {spread[c]:,.4g} are "
            f"off by {off[c]:,.2g} as {self.type}: subtract the column's mean from it{other}"
            for c in np.flatnonzero((spread > 0) & (off * FEWEST_STEPS > spread))[:MOST_NAMED].tolist()
        ]

    def _floats(self, block: Rows, first: int) -> Floats:
        with np.errstate(over="ignore"):
            values: Floats = block.astype(np.float32)
        self._require(np.isfinite(values), block, first)
        return values

    def _require(self, good: npt.NDArray[np.bool_], block: Rows, first: int) -> None:
        if not good.all():
            row, column = np.unravel_index(int(good.argmin()), good.shape)
            value = block[row, column]
            hint = ", for example by the column's mean, with a column of 0 and 1 that says where" if value != value else ""
            raise UserError(
                f"{self._source.name}: row {first + row}, column {column}: {value}: every feature must be a finite {self.type}: "
                f"replace the value{hint}"
            )
