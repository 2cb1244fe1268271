"""Sum a batch's rows by group, in the same order everywhere: pieces of each group first, then the pieces.

What sums a group adds one row after the other. A group as large as the batch would take as long as all others together. So it is
cut into pieces, whose sums are made side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from marius_lite._native import group_rows
from marius_lite.rows.batch import Arrays, Arrived

PIECE = 256
"""Rows of a piece, at most."""
ORDER, PIECES, PIECE_ORDER, GROUPS = "group order", "group pieces", "piece order", "group starts"


@dataclass(frozen=True, slots=True)
class Grouped:
    """What is summed: ``groups`` sums, by way of ``pieces`` of them; 0: directly. ``arrays``: what `sum` needs, see `Arrived`.

    How many pieces there are follows from the number of rows, whatever their groups: as many as they may need at most.
    """

    groups: int
    pieces: int
    arrays: Arrays

    @classmethod
    def of(cls, groups: npt.NDArray[np.int64], count: int) -> Grouped:
        """Prepare the sums of rows by their ``groups`` (m,), each below ``count``."""
        order, pieces, starts = group_rows(groups, count, PIECE)
        if not len(pieces):
            return cls(count, 0, {ORDER: order, GROUPS: starts})
        made = len(pieces) - 1
        arrays = {ORDER: order, PIECES: pieces, PIECE_ORDER: np.arange(made, dtype=np.int32), GROUPS: starts}
        return cls(count, made, arrays)

    def sum(self, arrived: Arrived, rows: torch.Tensor) -> torch.Tensor:
        """Return the sums (groups, width) of rows (m, width), float32; 0 where a group has none."""
        out = rows.new_empty((self.groups, rows.shape[1]))
        if not self.pieces:
            arrived.sum_segments([rows], ORDER, GROUPS, out)
            return out
        pieces = rows.new_empty((self.pieces, rows.shape[1]))
        arrived.sum_segments([rows], ORDER, PIECES, pieces)
        arrived.sum_segments([pieces], PIECE_ORDER, GROUPS, out)
        return out
