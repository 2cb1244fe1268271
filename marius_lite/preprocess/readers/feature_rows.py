"""Opens a file of rows of numbers, in whichever format it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from marius_lite.errors import UserError
from marius_lite.preprocess.readers.array_file import ArrayFile, OfArray, keys_of
from marius_lite.preprocess.readers.csr_rows import CsrRows, csr_prefix
from marius_lite.preprocess.readers.number_rows import NumberRows, Rows, is_number
from marius_lite.preprocess.readers.parquet_rows import ParquetRows
from marius_lite.preprocess.readers.source import locate, magic_of
from marius_lite.preprocess.readers.text_rows import DelimitedRows
from marius_lite.preprocess.readers.zarr_rows import ZarrRows

TEXT = ("text", "gzip", "zstd", "bz2", "xz")
USUAL = ("features", "feat", "x")
ADVICE = "save a two-dimensional array of numbers, a row for each node, with numpy.save"


class DenseRows(OfArray):
    """A two-dimensional array, row after row."""

    together = 1

    def __init__(self, array: ArrayFile):
        super().__init__(array)
        self.dtype, shape = self._array.dtype, self._array.shape
        if len(shape) != 2 or min(shape) < 1 or not is_number(self.dtype):
            raise UserError(f"{self.name}: an array of {self.dtype}, shape {shape}: {array.advice}")
        if self._array.by_column:
            raise UserError(f"{self.name}: stored column after column (Fortran order): save numpy.ascontiguousarray(array)")
        self.rows, self.width = int(shape[0]), int(shape[1])

    def row_cost(self) -> int:
        return self.width * self.dtype.itemsize

    def blocks(self, rows: int) -> Iterator[tuple[int, Rows]]:
        return self._array.blocks(rows)


def open_rows(file: Path) -> NumberRows:
    """Open FILE.npy, FILE.npz[:KEY] (an array, or the parts of a CSR matrix), a Parquet file, a Zarr array or a table of text.
    Raises UserError."""
    path, key = locate(file)
    if path.is_dir():
        return ZarrRows(path)
    magic = magic_of(path)
    if magic == "parquet":
        return ParquetRows(path)
    if magic in TEXT and key is None:
        return DelimitedRows(path)
    if magic == "zip" and (prefix := csr_prefix(path, keys_of(path), key, USUAL)) is not None:
        return CsrRows(path, prefix)
    return DenseRows(ArrayFile(file, ADVICE, USUAL))
