"""What is counted of a dataset's edges by node and by relation, and stored with it: the folder ``counts``.

It has ``out`` and ``in``, the degrees of each node in training, ``splits``, whose bit s is set for a node with an edge in split
s, and ``relations``, the edges of each split by relation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import count_ends
from marius_lite.graph.edges import COLUMNS, EDGES_AT_ONCE, EdgeBuckets
from marius_lite.graph.folder import DatasetFolder
from marius_lite.graph.node_columns import NODE_SPLITS, NodeColumn
from marius_lite.graph.partitioning import Partitioning
from marius_lite.storage.flat import open_flat
from marius_lite.storage.small_arrays import read_table

COUNTS = Path("counts")
BY_NODE = ("out", "in", "splits")
Counts = npt.NDArray[Any]  # uint32 or uint64
NodeCounts = tuple[Counts, Counts, npt.NDArray[np.uint8]]
"""The counts `BY_NODE` of some nodes."""


def has_counts(dataset: DatasetFolder) -> bool:
    """Whether a dataset has the folder; those of earlier versions of the program have none."""
    return (COUNTS / "relations" / "zarr.json").as_posix() in dataset.manifest.files


def stored_counts(dataset: DatasetFolder, name: str) -> NodeColumn:
    """Return one of the columns `BY_NODE` of a dataset that has the folder."""
    dtype = open_flat(dataset.path / COUNTS / name).dtype
    return NodeColumn(dataset.path, COUNTS / name, dtype, dataset.partitioning, dataset.manifest.files)


def stored_relations(dataset: DatasetFolder) -> npt.NDArray[np.int64]:
    """Return the edges of each split by relation: int64 (3, relations)."""
    return read_table(dataset.path / COUNTS / "relations", np.int64, (len(NODE_SPLITS), dataset.manifest.relations))


def count_nodes(
    edges: Mapping[str, EdgeBuckets],
    partitioning: Partitioning,
    nodes: range,
    dtype: type[np.unsignedinteger[Any]],
    progress: Callable[[int], object] = lambda _: None,
) -> NodeCounts:
    """Count the ``edges`` (by split) of some nodes, from the rows and columns of buckets in which these lie. ``dtype``: of
    degrees. Calls ``progress`` with the bytes that were read."""
    outs, ins, splits = np.zeros(len(nodes), dtype), np.zeros(len(nodes), dtype), np.zeros(len(nodes), np.uint8)
    own, every = range(nodes.start // partitioning.rows, -(-nodes.stop // partitioning.rows)), range(partitioning.partitions)
    for name, buckets in edges.items():
        mark = 1 << NODE_SPLITS.index(name)
        for of_columns, rows, columns, degrees in ((False, own, every, outs), (True, every, own, ins)):
            for piece in buckets.block(rows, columns, EDGES_AT_ONCE, COLUMNS[of_columns : of_columns + 1]):
                progress(piece.columns[0].nbytes)
                count_ends(
                    piece.columns[0],
                    piece.buckets,
                    piece.ends,
                    len(every),
                    partitioning.rows,
                    of_columns,
                    nodes.start,
                    mark,
                    splits,
                    degrees if name == NODE_SPLITS[0] else None,
                )
    return outs, ins, splits
