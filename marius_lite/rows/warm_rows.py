"""First rows of a run that goes on from another: nodes it knew keep theirs, new ones begin as the mean of their neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.graph.edges import EdgeBuckets
from marius_lite.storage.bfloat16 import as_stored, floats
from marius_lite.storage.table import RowTable
from marius_lite.types import Ids

BYTES_AT_ONCE = 8 << 20  # of sums of new nodes, of neighbours' numbers, and of those gathered for edges, as float64
ENDS = ("src", "dst")


@dataclass(frozen=True)
class WarmRows:
    """The rows of ``table``, of an older version of the dataset whose training ``edges`` these are.

    ``values``: how many of a row's first numbers a new node takes from its neighbours.
    """

    table: RowTable
    edges: EdgeBuckets
    values: int

    def fill(self, k: int, rows: npt.NDArray[Any]) -> None:
        """Fill the records of partition k's nodes, which hold first rows. Raises RunError for a damaged table.

        Known nodes get their records, with the optimizer's state. A new node gets the mean of the known nodes that training edges
        join to it, in either direction, each as often as there are edges; without any its row stays. Takes some 40 MiB of
        memory.
        """
        first = self.edges.partitioning.range(k).start
        known = min(max(0, self.table.nodes - first), len(rows))
        for ids, found in self._known(first, first + known):
            rows[ids - first] = found
        for low in range(known, len(rows), self._at_once):
            self._take_means(k, low, rows[low : low + self._at_once])

    @property
    def _at_once(self) -> int:
        """Nodes, and edges, that are handled together."""
        return max(1, BYTES_AT_ONCE // (8 * self.table.width))

    def _known(self, start: int, stop: int) -> Iterator[tuple[Ids, npt.NDArray[Any]]]:
        """Read the records of known nodes [start, stop), some at a time, with their ids."""
        size = self.table.rows_per_partition
        for low in range(start, stop, self._at_once):
            ids = np.arange(low, min(low + self._at_once, stop))
            for part in np.split(ids, np.flatnonzero(ids % size == 0)):
                if len(part):
                    yield part, self.table.read_rows(int(part[0]) // size, part % size)

    def _take_means(self, k: int, low: int, rows: npt.NDArray[Any]) -> None:
        """Give the means of their neighbours to some new nodes: those at offset ``low`` and after in partition k."""
        sums = torch.zeros(len(rows), self.values, dtype=torch.float64)
        counts = np.zeros(len(rows), np.int64)
        for ids, records in self._known(0, self.table.nodes):
            values = torch.from_numpy(np.array(floats(records[:, : self.values]), np.float64))
            for own, other in self._ends(k, low, len(rows), ids):
                sums.index_add_(0, torch.from_numpy(own), values[torch.from_numpy(other)])
                counts += np.bincount(own, minlength=len(rows))
        met = counts > 0
        means = (sums.numpy()[met] / counts[met, None]).astype(np.float32)
        rows[met, : self.values] = as_stored(means, rows.dtype)

    def _ends(self, k: int, low: int, count: int, ids: Ids) -> Iterator[tuple[Ids, Ids]]:
        """Return, for edges between new nodes and the known nodes ``ids`` (a stretch), the offsets of both ends in these."""
        size = self.edges.partitioning.rows
        own = range(k, k + 1)
        others = range(int(ids[0]) // size, int(ids[-1]) // size + 1)
        for new_end, other_end, i, j in ((1, 0, others, own), (0, 1, own, others)):
            for piece in self.edges.block(i, j, self._at_once, ENDS):
                partition = np.divmod(piece.bucket_of_each(), self.edges.partitioning.partitions)[other_end]
                new = piece.columns[new_end].astype(np.int64) - low
                other = piece.columns[other_end].astype(np.int64) + partition * size - ids[0]
                inside = (new >= 0) & (new < count) & (other >= 0) & (other < len(ids))
                yield new[inside], other[inside]
