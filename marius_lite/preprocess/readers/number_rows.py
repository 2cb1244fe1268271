"""Rows of numbers, for features or several labels: what an opened file of any format offers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from marius_lite.preprocess.readers.node_ids import IdList

Rows = npt.NDArray[Any]


class NumberRows(Protocol):
    """``rows`` x ``width`` numbers of ``dtype``. ``name``: file, and key in it, for messages."""

    path: Path
    name: str
    rows: int
    width: int
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """Bytes of the file, or of all files of a folder."""
        ...

    @property
    def checksum(self) -> int:
        """crc32c of these bytes, known when `blocks` has ended."""
        ...

    @property
    def together(self) -> int:
        """Rows that can only be read together. Who asks for fewer reads them several times."""
        ...

    def row_cost(self) -> int:
        """Return the bytes of memory that `blocks` takes for each row."""
        ...

    def blocks(self, rows: int) -> Iterator[tuple[int, Rows]]:
        """Read (first row, rows) from front to back, at most ``rows`` at a time. The receiver may overwrite them."""
        ...


class OfRows:
    """An opened file with rows of numbers. ``size`` and ``checksum``: see `NumberRows`. ``ids``: whose rows they are, where the
    file says it."""

    def __init__(self, source: NumberRows):
        self._source, self.path, self.rows = source, source.path, source.rows
        self.ids: IdList | None = getattr(source, "ids", None)

    @property
    def size(self) -> int:
        return self._source.size

    @property
    def checksum(self) -> int:
        return self._source.checksum


def is_number(dtype: np.dtype[Any]) -> bool:
    """Whether features may be of this type."""
    return dtype.kind in "biu" or (dtype.kind == "f" and dtype.itemsize <= 8)
