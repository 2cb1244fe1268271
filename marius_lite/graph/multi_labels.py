"""Read the labels of nodes that may have several classes: a row for each node, by partition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from marius_lite.graph.node_columns import LABELS, MULTI_LABEL, Files
from marius_lite.storage.table import RowTable

Rows = npt.NDArray[np.int8]


class MultiLabels:
    """A row of ``classes`` numbers for each node: 1 where it has the class, 0 where not. A node without a label has -1 in all.

    ``table``: the rows on disk, padded with zeros to 16 bytes. ``checksums``: CRC-32C of each partition's chunk file. A file is
    compared with its checksum before a row of it is given.
    """

    def __init__(self, dataset: Path, classes: int, files: Files):
        table = RowTable.open(dataset / LABELS)
        self.checksums = table.chunks.checksums(dataset, files)
        self.table, self.classes = table.expecting(self.checksums), classes

    def room(self, nodes: int) -> Rows:
        """Return an empty array for the labels of ``nodes`` nodes."""
        return np.empty((nodes, self.classes), MULTI_LABEL)

    def reader(self, k: int) -> Callable[[npt.NDArray[np.int64]], Rows]:
        """Return a function that reads the labels (n, classes) of partition k's nodes at given offsets (n,).

        It raises what `RowTable.read_rows` raises.
        """
        return lambda offsets: self.table.read_rows(k, offsets, slice(0, self.classes))
