"""What is counted of a dataset's edges by node and by relation, and stored with it, so that an update need not count again.

The folder ``counts`` has ``out`` and ``in``, the degrees of each node in training, ``splits``, whose bit s is set for a node with
an edge in split s, and ``relations``, the edges of each split by relation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.disk.passes import Files
from marius_lite.preprocess.edges.buckets import node_bytes
from marius_lite.preprocess.options import SPLITS
from marius_lite.storage.columns import ColumnWriter
from marius_lite.storage.flat import open_flat, read_array_range
from marius_lite.storage.metadata import create_group
from marius_lite.storage.small_arrays import read_table, write_array

COUNTS = Path("counts")
BY_NODE = ("out", "in", "splits")
BUFFERED = 1 << 20  # bytes of a column that wait to be written
AT_ONCE = 1 << 20  # nodes


class TallyWriter:
    """Writes the folder ``counts`` of the dataset in ``root``, a chunk for each partition. ``degrees``: their dtype."""

    def __init__(self, root: Path, partitioning: Partitioning, degrees: npt.DTypeLike):
        self._root = root
        create_group(root / COUNTS)
        dtypes = (degrees, degrees, np.uint8)
        self._columns = [
            ColumnWriter(root / COUNTS / name, partitioning.rows, dtype, BUFFERED) for name, dtype in zip(BY_NODE, dtypes)
        ]

    def append(self, *by_node: npt.NDArray[Any]) -> None:
        """Append the counts `BY_NODE` of the next nodes."""
        for column, values in zip(self._columns, by_node):
            column.append(values.astype(column.dtype, copy=False))

    def close(self, relations: npt.NDArray[np.int64]) -> Files:
        """Finish the folder. ``relations``: (3, relations). Returns (size, crc32c) of the large files."""
        for column in self._columns:
            column.close()
        write_array(self._root / COUNTS / "relations", np.ascontiguousarray(relations))
        return {path: entry for column in self._columns for path, entry in column.files.items()}


def has_counts(dataset: Dataset) -> bool:
    """Whether a dataset has the folder; those of earlier versions of the program have none."""
    return (COUNTS / "relations" / "zarr.json").as_posix() in dataset.manifest.files


def stored_relations(dataset: Dataset) -> npt.NDArray[np.int64]:
    """Return the edges of each split by relation: int64 (3, relations)."""
    return read_table(dataset.path / COUNTS / "relations", np.int64, (len(SPLITS), dataset.manifest.relations))


def copy_counts(old: Dataset, root: Path, partitioning: Partitioning) -> Files:
    """Write the counts of a dataset, where it has any, for other partitions of its nodes."""
    if not has_counts(old):
        return {}
    old.checked.check(old.path / COUNTS)
    paths = [old.path / COUNTS / name for name in BY_NODE]
    writer = TallyWriter(root, partitioning, open_flat(paths[0]).dtype)
    for low in range(0, partitioning.nodes, AT_ONCE):
        writer.append(*(read_array_range(path, low, min(low + AT_ONCE, partitioning.nodes)) for path in paths))
    return writer.close(stored_relations(old))


def counts_bytes(nodes: int, partitions: int, degrees: type[np.unsignedinteger[Any]]) -> int:
    """What the counts take: the last chunk is filled up."""
    return (nodes + partitions) * node_bytes(degrees)
