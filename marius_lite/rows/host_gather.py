"""Gather rows of a buffer into dense tensors on the CPU. Every other gather gives the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from marius_lite._native import gather
from marius_lite.types import Rows


class HostGather:
    """Gathers the first ``columns`` of rows. Its tensors are reused: each is valid until ``ring`` calls later.

    ``table``: (rows, width) float32, or as ``type`` and ``scales`` say (see `graph.feature_types`).
    """

    def __init__(
        self,
        table: npt.NDArray[Any],
        columns: int,
        ring: int = 1,
        threads: int = 1,
        type: str = "float32",
        scales: npt.NDArray[np.float32] | None = None,
    ):
        self._table, self._columns, self._threads, self._type, self._scales = table, columns, threads, type, scales
        self._ring = [torch.empty((0, columns), dtype=torch.float32) for _ in range(ring)]
        self._turn = 0

    def __call__(self, rows: Rows) -> torch.Tensor:
        """Return the values of the rows (m,), float32 (m, columns)."""
        self._turn = (self._turn + 1) % len(self._ring)
        if len(rows) > len(self._ring[self._turn]):
            self._ring[self._turn] = torch.empty((len(rows), self._columns), dtype=torch.float32)
        gathered = self._ring[self._turn][: len(rows)]
        self._gather(rows, gathered.numpy())
        return gathered

    def _gather(self, rows: Rows, out: npt.NDArray[np.float32]) -> None:
        if self._type == "float32":
            gather(self._table, rows, out, self._threads)
        elif self._scales is not None:
            gather(self._table, rows, out, scales=self._scales, threads=self._threads)
        else:
            gather(self._table.view(np.uint16), rows, out, bfloat16=self._type == "bfloat16", threads=self._threads)
