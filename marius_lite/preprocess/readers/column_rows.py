"""Rows of numbers that come as columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.preprocess.readers.source import checksum_of


class ColumnRows:
    """A file whose rows come as columns. ``size``: its bytes, ``checksum``: their crc32c, made when it is asked for.

    Subclasses set ``width`` and ``dtype`` of a row.
    """

    together = 1
    width: int
    dtype: np.dtype[Any]

    def __init__(self, path: Path):
        self.path, self.name = path, str(path)
        self._checksum = 0

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    @property
    def checksum(self) -> int:
        if not self._checksum:
            self._checksum = checksum_of(self.path, lambda _: None)
        return self._checksum

    def row_cost(self) -> int:
        return 3 * self.width * self.dtype.itemsize  # as columns, as a batch, as rows


def rows_of(batch: pa.RecordBatch, dtype: np.dtype[Any], path: Path, first: int, missing: str) -> npt.NDArray[Any]:
    """Return the columns of a ``batch`` side by side: (rows, columns) of ``dtype``.

    Raises UserError for a number that is ``missing``, as the file at ``path`` has it, with its row. ``first``: the batch's first.
    """
    block = np.empty((len(batch), batch.num_columns), dtype)
    for place, column in enumerate(batch.columns):
        if column.null_count:
            row = int(np.asarray(column.is_null()).argmax())
            raise UserError(
                f"{path}: row {first + row}, column {batch.schema.names[place]!r}: {missing}: every value must be a number: "
                "replace it"
            )
        block[:, place] = column.to_numpy(zero_copy_only=False)
    return block
