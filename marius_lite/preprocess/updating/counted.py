"""The counts of nodes and relations that an update adds to: see `edges.node_counts`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import count_ends
from marius_lite.graph.counts import BY_NODE, COUNTS, has_counts, stored_counts, stored_relations
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import COLUMNS, EDGES_AT_ONCE, EdgeBuckets, EdgePiece
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.options import SPLITS


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
        if not has_counts(old):
            return False
        old.checked.check(old.path / COUNTS / "relations")
        for name, values in zip(BY_NODE, (self.out, self.into, self.splits)):
            column = stored_counts(old, name)
            for k in range(column.partitioning.partitions):
                ids = column.partitioning.range(k)
                values[ids.start : ids.stop] = column.read(k)
        self.relations[:, : old.manifest.relations] = stored_relations(old)
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

    def mark_again(self, split: int, edges: EdgeBuckets) -> None:
        """Find again which nodes have an edge in a split some of whose edges were removed. ``edges``: those it has now. Training
        degrees have to be right."""
        self.splits[:] &= ~np.uint8(1 << split)
        if split == 0:
            self.splits[:] |= (self.out > 0) | (self.into > 0)
            return
        p = edges.partitioning
        for piece in edges.block(range(p.partitions), range(p.partitions), EDGES_AT_ONCE, COLUMNS[:2]):
            for of_columns, ends in enumerate(piece.columns):
                count_ends(
                    ends, piece.buckets, piece.ends, p.partitions, p.rows, bool(of_columns), 0, 1 << split, self.splits, None
                )
