"""A dataset as one layer of an encoder sees it that is trained alone: other features, and no edges."""

from __future__ import annotations

import numpy as np

from marius_lite.graph.adjacency import PartitionLists, source_dtype
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.features import Features
from marius_lite.graph.manifest import FeatureShape
from marius_lite.graph.partitioning import Partitioning
from marius_lite.storage.table import RowTable


class GatheredDataset(Dataset):
    """A dataset whose nodes have the rows of ``table``, with its checksums, as features: ``width`` float32 numbers each.

    No edge leads from node to node. All else, labels and splits, is that of ``dataset``.
    """

    def __init__(self, dataset: Dataset, table: RowTable, width: int):
        super().__init__(dataset.path, dataset.manifest)
        self.features = Features(table, FeatureShape(width=width, dtype="float32"))
        self.adjacency = NoEdges(self.partitioning)  # type: ignore[assignment]


class NoEdges:
    """In-edge lists that are empty. See `graph.adjacency.Adjacency`."""

    has_relations = has_weights = weighs = False

    def __init__(self, partitioning: Partitioning):
        self.partitioning = partitioning
        self.held = np.zeros(partitioning.partitions, np.int64)
        self.starts = np.zeros(partitioning.partitions + 1, np.int64)

    def edges(self, k: int) -> int:
        return 0

    def read_bytes(self, k: int, weights: bool = False) -> int:
        return 0

    def edge_bytes(self, weights: bool = False) -> int:
        return int(source_dtype(self.partitioning.nodes).itemsize)

    def merging_bytes(self, weights: bool = False) -> int:
        return 0

    def read(self, k: int, weights: bool = False, own_pages: bool = False, *, relations: bool = True) -> PartitionLists:
        size = self.partitioning.size(k)
        return PartitionLists(np.zeros(size + 1, np.int64), np.empty(0, source_dtype(self.partitioning.nodes)), None)
