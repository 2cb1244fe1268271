"""Read one number for each node, by partition: class labels, and which split a node belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import crc32c
from marius_lite.errors import UserError
from marius_lite.graph.partitioning import Partitioning
from marius_lite.storage.chunks import Chunks
from marius_lite.storage.columns import node_column

TABLES = Path("tables")
LABELS, SPLIT = TABLES / "labels", TABLES / "split"
MULTI_LABEL = np.dtype(np.int8)  # of the entry for each class, where nodes may have several
NODE_SPLITS = ("train", "valid", "test")  # a node's entry in SPLIT is the place of its split here, from 1; 0 is none
Files = Mapping[str, tuple[int, int]]


def read_chunk(chunks: Chunks, k: int, dtype: np.dtype[Any], checksum: int) -> npt.NDArray[Any]:
    """Read a whole chunk past the page cache.

    Raises UserError where the bytes are not those that preprocess wrote, RunError for a file that cannot be read.
    """
    flat = chunks.read(k, dtype)
    if crc32c(flat.view(np.uint8)) != checksum:
        raise UserError(
            f"{chunks.path(k)}: does not match its checksum, the dataset was changed: make it again with `marius-lite preprocess`"
        )
    return flat


class NodeColumn:
    """A one-dimensional array of a dataset, with an entry for each node and a chunk for each partition.

    ``column``: its folder in the dataset. ``chunks``: its files, one for each partition. ``checksums``: the CRC-32C of each.
    """

    def __init__(self, dataset: Path, column: Path, dtype: npt.DTypeLike, partitioning: Partitioning, files: Files):
        self.path = dataset / column
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.partitioning = partitioning
        self.chunks = node_column(self.path, self.dtype, partitioning.nodes, partitioning.rows)
        self.checksums = self.chunks.checksums(dataset, files)

    def read(self, k: int) -> npt.NDArray[Any]:
        """Read the entries (size,) of partition k's nodes, in order of node id.

        Raises what `read_chunk` raises, and ValueError for a partition that does not exist.
        """
        size = self.partitioning.size(k)
        return read_chunk(self.chunks, k, self.dtype, self.checksums[k])[:size]


class Labels(NodeColumn):
    """A class number, 0 to ``classes`` - 1, for each node, or -1 for none; int64."""

    def __init__(self, dataset: Path, classes: int, partitioning: Partitioning, files: Files):
        super().__init__(dataset, LABELS, np.int64, partitioning, files)
        self.classes = classes

    def room(self, nodes: int) -> npt.NDArray[np.int64]:
        """Return an empty array for the labels of ``nodes`` nodes."""
        return np.empty(nodes, np.int64)

    def reader(self, k: int) -> Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]:
        """Return a function that gives the labels of partition k's nodes at given offsets. Raises what `read` raises."""
        entries = self.read(k)
        return lambda offsets: entries[offsets]


class NodeSplits(NodeColumn):
    """Which split each node belongs to, uint8, see `NODE_SPLITS`. ``counts``: how many nodes each split has."""

    def __init__(self, dataset: Path, counts: Mapping[str, int], partitioning: Partitioning, files: Files):
        super().__init__(dataset, SPLIT, np.uint8, partitioning, files)
        self.counts = dict(counts)

    def nodes(self, name: str) -> npt.NDArray[np.int64]:
        """Return the node ids of a split, ascending. Partitions are read until all are found. Raises KeyError for an unknown
        split."""
        code, left = 1 + NODE_SPLITS.index(name), self.counts[name]
        found = [np.empty(0, np.int64)]
        for k in range(self.partitioning.partitions):
            if left:
                found.append(np.flatnonzero(self.read(k) == code) + k * self.partitioning.rows)
                left -= len(found[-1])
        return np.concatenate(found)
