"""What is counted of a version's edges by node and by relation, and stored with it, so that the next update need not count again.

The folder ``counts`` of a version that `update` made by appending has ``out`` and ``in``, the degrees of each node in training,
``splits``, whose bit s is set for a node with an edge in split s, and ``relations``, the edges of each split by relation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import count_ends
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import EdgePiece
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.disk.passes import Files
from marius_lite.preprocess.options import SPLITS
from marius_lite.storage.columns import write_node_column
from marius_lite.storage.flat import read_array_range
from marius_lite.storage.metadata import create_group
from marius_lite.storage.small_arrays import read_table, write_array

COUNTS = Path("counts")
BY_NODE = ("out", "in", "splits")


@dataclass(frozen=True)
class CountedEdges:
    """Counts of nodes, of relations, (3, relations), and of ``totals`` (see `edges.buckets.Tally`)."""

    out: npt.NDArray[Any]
    into: npt.NDArray[Any]
    splits: npt.NDArray[np.uint8]
    relations: npt.NDArray[np.int64]

    @classmethod
    def zeros(cls, nodes: int, relations: int, dtype: type[np.unsignedinteger[Any]]) -> CountedEdges:
        degrees = (np.zeros(nodes, dtype), np.zeros(nodes, dtype))
        return cls(*degrees, np.zeros(nodes, np.uint8), np.zeros((len(SPLITS), relations), np.int64))

    def read(self, old: Dataset) -> bool:
        """Fill in the counts that a dataset, with fewer nodes and relations perhaps, has. Returns whether it has any."""
        if not any(name.startswith(f"{COUNTS}/") for name in old.manifest.files):
            return False
        old.checked.check(old.path / COUNTS)
        for name, values in zip(BY_NODE, (self.out, self.into, self.splits)):
            values[: old.manifest.nodes] = read_array_range(old.path / COUNTS / name, 0, old.manifest.nodes)
        stored = read_table(old.path / COUNTS / "relations", np.int64, (len(SPLITS), old.manifest.relations))
        self.relations[:, : old.manifest.relations] = stored
        return True

    def add(self, piece: EdgePiece, split: int, partitioning: Partitioning, several: bool) -> None:
        """Count edges: columns src, dst, and rel where they have ``several`` relations."""
        for of_columns, degrees in ((False, self.out), (True, self.into)):
            count_ends(
                piece.columns[of_columns],
                piece.buckets,
                piece.ends,
                partitioning.partitions,
                partitioning.rows,
                of_columns,
                0,
                1 << split,
                self.splits,
                None if split else degrees,
            )
        if split:  # those of training are what is left of all
            counts = np.bincount(piece.columns[2]) if several else np.array([len(piece.columns[0])])
            self.relations[split, : len(counts)] += counts

    def write(self, root: Path, rows: int) -> Files:
        """Write the folder ``counts``, with so many ``rows`` in a chunk. Returns (size, crc32c) of its large files."""
        create_group(root / COUNTS)
        written: Files = {}
        for name, values in zip(BY_NODE, (self.out, self.into, self.splits)):
            written |= write_node_column(root / COUNTS / name, values.dtype, len(values), rows, _part(values))
        write_array(root / COUNTS / "relations", self.relations)
        return written


def _part(values: npt.NDArray[Any]) -> Callable[[range], npt.NDArray[Any]]:
    return lambda ids: values[ids.start : ids.stop]
