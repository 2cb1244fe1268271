"""The partitions that one `enter` of a buffer made resident."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt


class ResidentPartitions:
    """Partitions that are in memory as long as this is ``alive``: until the buffer is entered again, or closed.

    Rows are found through it alone. So who keeps it longer is told, by a RuntimeError of every method, and reads no rows of
    other partitions. A view that was taken before is not taken back: numpy has no way to.
    """

    def __init__(
        self, rows: npt.NDArray[Any], base_row: Callable[[int], int], size: Callable[[int], int], partitions: Iterable[int] = ()
    ):
        self._rows, self._base_row, self._size = rows, base_row, size
        self._partitions = set(partitions)
        self.alive = True

    def base_row(self, k: int) -> int:
        """The index in the buffer's ``rows`` of partition k's first row. Raises ValueError where it is not resident."""
        self._check()
        base = self._base_row(k)
        if k not in self._partitions:  # though it is in memory: it loads ahead, or could not be written
            raise ValueError(f"partition {k} is not resident: {sorted(self._partitions)} are")
        return base

    def base_rows(self) -> dict[int, int]:
        """`base_row` of each partition."""
        return {k: self.base_row(k) for k in sorted(self._partitions)}

    def view(self, k: int) -> npt.NDArray[Any]:
        """Partition k's rows (size, width)."""
        base = self.base_row(k)
        return self._rows[base : base + self._size(k)]

    def add(self, k: int) -> None:
        """Take note of a partition that has become resident since."""
        self._check()
        self._partitions.add(k)

    def end(self) -> None:
        """Note that other partitions may be resident from now on."""
        self.alive, self._rows = False, np.empty((0, 0))

    def _check(self) -> None:
        if not self.alive:
            raise RuntimeError(
                f"partitions {sorted(self._partitions)} were resident until the buffer was entered again or closed"
            )
