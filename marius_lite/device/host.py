"""The CPU gather: rows of the buffer into dense batch tensors. It specifies what every other gather does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch

from marius_lite._native import gather
from marius_lite.types import DeviceBatch, SampledBatch

Table = npt.NDArray[np.float32]
Gather = Callable[[SampledBatch], DeviceBatch]


class HostGather:
    """Gathers value columns into tensors that are reused: a DeviceBatch is valid until ``ring`` calls later.

    ``table``: float32 (rows, width); values are the first ``dim`` columns.
    """

    def __init__(self, table: Table, dim: int, ring: int = 1, threads: int = 1):
        self._table, self._dim, self._threads = table, dim, threads
        self._ring: list[dict[str, torch.Tensor]] = [{} for _ in range(ring)]
        self._turn = 0

    def __call__(self, sampled: SampledBatch) -> DeviceBatch:
        self._turn = (self._turn + 1) % len(self._ring)
        edges, (sides, chunks, count) = sampled.edges, sampled.negatives.shape
        negatives = self._rows("negatives", sampled.negatives.reshape(-1))
        return DeviceBatch(sampled, self._rows("src", edges.src), self._rows("dst", edges.dst),
                           negatives.view(sides, chunks, count, self._dim), torch.from_numpy(edges.rel))

    def _rows(self, name: str, rows: npt.NDArray[np.int64]) -> torch.Tensor:
        out = self._tensor(name, len(rows))
        gather(self._table, rows, out.numpy(), self._threads)
        return out

    def _tensor(self, name: str, rows: int) -> torch.Tensor:
        """The first ``rows`` rows of this turn's tensor of that name, grown when a batch needs more."""
        held = self._ring[self._turn].get(name)
        if held is None or len(held) < rows:
            held = torch.empty((rows, self._dim), dtype=torch.float32)
            self._ring[self._turn][name] = held
        return held[:rows]
