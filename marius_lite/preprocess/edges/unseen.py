"""Edges of other splits with a node or a relation that no training edge has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from marius_lite.files import read_numbers
from marius_lite.graph.edges import COLUMNS, EdgeBuckets

EDGE_BYTES = 128  # of an edge while its ends are looked up
LEAST_EDGES, LEAST_NODES = 1 << 10, 1 << 16  # at once, whatever the memory


def unseen_edges(
    edges: Mapping[str, EdgeBuckets], trained: Path, relations: npt.NDArray[np.bool_], memory: int
) -> dict[str, int]:
    """Count the ``edges`` of each split that have a node or a relation without a training edge.

    ``trained``: a file of a byte for each node, 1 where it has a training edge. ``relations``: the same of relations. ``memory``:
    bytes, half for edges, half for nodes. All nodes are read once for each piece of edges.
    """
    return {name: sum(_unseen(buckets, trained, relations, memory // 2)) for name, buckets in edges.items()}


def _unseen(buckets: EdgeBuckets, trained: Path, relations: npt.NDArray[np.bool_], memory: int) -> list[int]:
    nodes, rows, every = buckets.partitioning.nodes, buckets.partitioning.rows, range(buckets.partitioning.partitions)
    step, counts = max(LEAST_NODES, memory), []
    for piece in buckets.block(every, every, max(LEAST_EDGES, memory // EDGE_BYTES), COLUMNS):
        src, dst, rel = piece.columns
        i, j = np.divmod(piece.bucket_of_each(), len(every))
        trained_on = relations[rel]
        for first in range(0, nodes, step):
            part = read_numbers(trained, np.bool_, min(step, nodes - first), first)
            for ends in (src + i * rows - first, dst + j * rows - first):
                inside = (ends >= 0) & (ends < len(part))
                trained_on[inside] &= part[ends[inside]]
        counts.append(int(np.count_nonzero(~trained_on)))
    return counts
