"""The rows of a buffer in host memory, as a device reaches them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.device.links import Table
from marius_lite.device.rows import RowStepSettings


@dataclass(frozen=True)
class HostTable:
    """A buffer's rows (n, width), each a multiple of 16 bytes, whose first ``columns`` are the values.

    ``step``: how batches change the values; None where they only read them. ``type``, ``scales``: as in `graph.feature_types`.
    """

    rows: npt.NDArray[Any]
    slot_rows: int
    columns: int
    step: RowStepSettings | None = None
    type: str = "float32"
    scales: npt.NDArray[np.float32] | None = None

    @property
    def records(self) -> Table:
        """The same bytes as float32 columns: rows are moved without being converted."""
        return self.rows.view(np.float32)
