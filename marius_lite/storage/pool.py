"""A few rows of every partition that is not resident, as they were when it left the buffer.

Negatives drawn from resident partitions alone make a model that has never told apart nodes that were seldom resident together.
The pool closes that gap for a small, fixed cost: these rows are compared with, never updated, and they equal what the
partition's file says, so a checkpoint need not hold them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from marius_lite.seeds import generator_for

Left = tuple[int, int]  # (epoch, step) whose beginning saw the partition leave; (-1, 0) for never resident


class SnapshotPool:
    """``rows``: float32 (partitions * rows_each, dim); partition k owns [k * rows_each, (k+1) * rows_each)."""

    def __init__(self, sizes: Iterable[int], rows_each: int, dim: int, run_seed: int):
        self._sizes = list(sizes)
        self._seed = run_seed
        self.rows_each = rows_each
        self.rows: npt.NDArray[np.float32] = np.zeros((len(self._sizes) * rows_each, dim), np.float32)

    def offsets(self, partition: int, left: Left) -> npt.NDArray[np.int64]:
        """Which of the partition's rows are kept after it left at ``left``; repeats where it is smaller than the pool."""
        generator = generator_for(self._seed, "pool", left[0] + 1, left[1], partition)
        size = self._sizes[partition]
        chosen = generator.choice(size, size=min(self.rows_each, size), replace=False)
        return np.resize(chosen, self.rows_each)

    def take(self, partition: int, left: Left,
             read: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.float32]]) -> None:
        """Keep what ``read(offsets)`` returns, (rows_each, dim), as the partition's rows."""
        start = partition * self.rows_each
        self.rows[start:start + self.rows_each] = read(self.offsets(partition, left))

    def indices(self, outside: Iterable[int]) -> npt.NDArray[np.int64]:
        """Pool rows of the partitions that are not resident."""
        starts = np.fromiter(outside, np.int64) * self.rows_each
        return (starts[:, None] + np.arange(self.rows_each)).ravel()
