"""The layout of a node's record: value columns, optimizer-state columns, padding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from marius_lite._native import ROW_OPTIMIZERS
from marius_lite.config.sizes import padded_width
from marius_lite.storage.bfloat16 import BITS

RowType = Literal["float32", "bfloat16"]
"""What the numbers of a record are."""
DTYPES: dict[RowType, np.dtype[Any]] = {"float32": np.dtype(np.float32), "bfloat16": BITS}
HALVES: dict[RowType, int] = {"float32": 1, "bfloat16": 2}
"""Columns of the number that a row has for itself. In bfloat16 it is their sum, because it needs more digits than one has."""


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """Columns of a row: ``dim`` values, ``state_columns`` of optimizer state, zero padding up to ``width``.

    Raises ValueError for a ``dim`` below 1 or a negative ``state_columns``.
    """

    dim: int
    state_columns: int = 0
    type: RowType = "float32"

    def __post_init__(self) -> None:
        if self.dim < 1 or self.state_columns < 0:
            raise ValueError(f"dim and state_columns: found {self.dim} and {self.state_columns}, need at least 1 and 0")

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of columns, uint16 for the bits of bfloat16."""
        return DTYPES[self.type]

    @property
    def width(self) -> int:
        """Columns of a row, padding included: a row's bytes are a multiple of 16."""
        return padded_width(self.dim + self.state_columns, self.dtype)

    @property
    def stride(self) -> int:
        """Bytes of a row."""
        return self.width * self.dtype.itemsize

    @property
    def values(self) -> slice:
        """The value columns."""
        return slice(0, self.dim)

    @property
    def state(self) -> slice:
        """The optimizer-state columns."""
        return slice(self.dim, self.dim + self.state_columns)


def record_of(row_optimizer: str, dim: int, type: RowType = "float32") -> RecordLayout:
    """The record of ``dim`` numbers that are trained by ``row_optimizer``, the name of one of csrc/rows/formulas.h."""
    state = ROW_OPTIMIZERS[row_optimizer]
    return RecordLayout(dim, state["per_value"] * dim + state["per_row"] * HALVES[type], type)
