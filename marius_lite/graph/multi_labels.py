"""Labels of nodes that may have several classes: a row for each node, paged by partition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from marius_lite.graph.node_columns import LABELS, MULTI_LABEL, Files
from marius_lite.storage.table import RowTable

Rows = npt.NDArray[np.int8]


class MultiLabels:
    """Of each node, for each of ``classes``: 1 where it has the class, 0 where not; -1 throughout for a node without a label.

    ``table``: where the rows lie, padded with zeros to 16 bytes. ``checksums``: CRC-32C of each partition's chunk file; no row is
    given out of a file that was not compared with its own.
    """

    def __init__(self, dataset: Path, classes: int, files: Files):
        table = RowTable.open(dataset / LABELS)
        self.checksums = table.chunks.checksums(dataset, files)
        self.table, self.classes = table.expecting(self.checksums), classes

    def room(self, nodes: int) -> Rows:
        """Return an empty array for the labels of ``nodes`` nodes."""
        return np.empty((nodes, self.classes), MULTI_LABEL)

    def reader(self, k: int) -> Callable[[npt.NDArray[np.int64]], Rows]:
        """Return what reads labels (n, classes) of partition k's nodes by their offsets (n,) in it. Raises as
        `RowTable.read_rows` does."""
        return lambda offsets: self.table.read_rows(k, offsets, slice(0, self.classes))
