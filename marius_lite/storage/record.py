"""The layout of a node's record: value columns, optimizer-state columns, padding."""

from __future__ import annotations

from dataclasses import dataclass

from marius_lite._native import ROW_OPTIMIZERS

COLUMN_BYTES = 4  # float32
COLUMNS_STEP = 4  # a row's stride is a multiple of 16 bytes


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """Columns of a row: ``dim`` values, ``state_columns`` of optimizer state, zero padding up to ``width``.

    Raises ValueError for a ``dim`` below 1 or a negative ``state_columns``.
    """

    dim: int
    state_columns: int = 0

    def __post_init__(self) -> None:
        if self.dim < 1 or self.state_columns < 0:
            raise ValueError(f"dim and state_columns: found {self.dim} and {self.state_columns}, need at least 1 and 0")

    @property
    def width(self) -> int:
        """Columns of a row, float32, padding included: a multiple of 4."""
        return -(-(self.dim + self.state_columns) // COLUMNS_STEP) * COLUMNS_STEP

    @property
    def stride(self) -> int:
        """Bytes of a row."""
        return self.width * COLUMN_BYTES

    @property
    def values(self) -> slice:
        """The value columns."""
        return slice(0, self.dim)

    @property
    def state(self) -> slice:
        """The optimizer-state columns."""
        return slice(self.dim, self.dim + self.state_columns)


def record_of(row_optimizer: str, dim: int) -> RecordLayout:
    """The record of ``dim`` numbers that are trained by ``row_optimizer``, the name of one of csrc/rows/formulas.h."""
    state = ROW_OPTIMIZERS[row_optimizer]
    return RecordLayout(dim, state["per_value"] * dim + state["per_row"])
