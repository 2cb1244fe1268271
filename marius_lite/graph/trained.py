"""Find nodes and relations that no training edge has. A model can know such a node from its features alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import EDGES_AT_ONCE
from marius_lite.types import Ids

Marks = npt.NDArray[np.bool_]


def trained_nodes(dataset: Dataset, nodes: Ids) -> Marks:
    """Return for each of ``nodes`` (n,) whether it is an end of a training edge.

    The buckets of their partitions are read once, sources and destinations. Memory has a byte for each node of one partition.
    """
    edges, partitioning = dataset.edges("train"), dataset.partitioning
    found, parts, every = np.zeros(len(nodes), np.bool_), partitioning.partition_of(nodes), range(partitioning.partitions)
    for k in np.unique(parts).tolist():
        ends, own = np.zeros(partitioning.rows, np.bool_), range(k, k + 1)
        for rows, columns, name in ((own, every, "src"), (every, own, "dst")):
            for piece in edges.block(rows, columns, EDGES_AT_ONCE, [name]):
                ends[piece.columns[0]] = True
        mine = parts == k
        found[mine] = ends[nodes[mine] - k * partitioning.rows]
    return found


def trained_relations(dataset: Dataset) -> Marks:
    """Return for each relation whether a training edge has it.

    The dataset counts the edges of all splits by relation. So only the edges of the other splits are read, and subtracted.
    """
    left, every = dataset.relation_counts(), range(dataset.partitioning.partitions)
    for split in dataset.manifest.edges:
        for piece in dataset.edges(split).block(every, every, EDGES_AT_ONCE, ["rel"]) if split != "train" else ():
            left -= np.bincount(piece.columns[0], minlength=len(left))
    return left > 0
