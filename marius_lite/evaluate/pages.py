"""Read the values of a table that is too large for memory, one partition at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from marius_lite.graph.partitioning import Partitioning
from marius_lite.storage.bfloat16 import BITS, WidenedRows
from marius_lite.storage.resident import ResidentPartitions

Values = npt.NDArray[np.float32] | WidenedRows
"""Values of nodes (n, dim), to be indexed by rows. What comes out is float32."""


class Buffer(Protocol):
    """The part of `marius_lite.storage.buffer.PartitionBuffer` that paging uses."""

    slots: int

    def enter(self, now: Iterable[int], next: Iterable[int] = ()) -> ResidentPartitions: ...


class Pages:
    """Reads ``dim`` values a node through a buffer. Nothing is changed."""

    def __init__(self, buffer: Buffer, partitioning: Partitioning, dim: int):
        self._buffer = buffer
        self.partitioning = partitioning
        self.dim = dim

    def each(self, partitions: Sequence[int]) -> Iterator[tuple[int, Values]]:
        """Yield (k, values (size, dim)) of these partitions in order. The next one loads meanwhile.

        The values are a view, valid until the next partition is asked for. Where all partitions fit the buffer, all are made
        resident once.
        """
        everything = range(self.partitioning.partitions)
        whole = self._buffer.enter(everything) if self._buffer.slots >= len(everything) else None
        for at, k in enumerate(partitions):
            ahead = partitions[at + 1 : at + 2] if self._buffer.slots > 1 else ()
            resident = whole or self._buffer.enter([k], ahead)
            values = resident.view(k)[:, : self.dim]
            yield k, WidenedRows(values) if values.dtype == BITS else values

    def gather(self, nodes: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Return the values (n, dim) of ascending node ids (n,)."""
        rows = np.empty((len(nodes), self.dim), np.float32)
        bounds = np.searchsorted(nodes, np.arange(self.partitioning.partitions + 1) * self.partitioning.rows)
        for k, values in self.each(np.flatnonzero(np.diff(bounds)).tolist()):
            part = slice(bounds[k], bounds[k + 1])
            rows[part] = values[nodes[part] - k * self.partitioning.rows]
        return rows
