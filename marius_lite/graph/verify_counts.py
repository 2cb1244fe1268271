"""Verify what a dataset says its edges count to: its folder ``counts``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.graph.counts import BY_NODE, COUNTS, count_nodes, has_counts, stored_relations
from marius_lite.graph.damage import Progress, check_array, check_chunk, damaged, first
from marius_lite.graph.edges import COLUMNS
from marius_lite.graph.folder import DatasetFolder
from marius_lite.graph.node_columns import NODE_SPLITS
from marius_lite.storage.flat import read_array_range
from marius_lite.storage.small_arrays import chunk_of_table

NODES_AT_ONCE = 1 << 22
"""Nodes that are counted at a time. Fewer than a partition has are read for more than once."""


def counted_bytes(dataset: DatasetFolder) -> int:
    """Return the bytes that `verify_counts` reads, where partitions have at most `NODES_AT_ONCE` nodes."""
    if not has_counts(dataset):
        return 0
    return sum(dataset.manifest.edges.values()) * 4 * len(COLUMNS[:2])


def verify_counts(dataset: DatasetFolder, relations: npt.NDArray[np.int64], progress: Progress) -> None:
    """Check the folder, where there is one, against the edges. ``relations``: what edges count to by split and relation."""
    if not has_counts(dataset):
        return
    partitioning, folder = dataset.partitioning, dataset.path / COUNTS
    check_chunk(dataset, chunk_of_table(folder / "relations", relations.nbytes), 0)
    if (wrong := first((stored_relations(dataset) != relations).T)) is not None:
        raise damaged(folder / "relations", f"relation {wrong} has other edges there than in edges/")
    for name in BY_NODE:
        check_array(dataset, folder / name, partitioning.nodes, np.uint8 if name == "splits" else None, partitioning.rows)
    edges = {name: dataset.edges(name) for name in dataset.manifest.edges}
    dtype: type[np.unsignedinteger[Any]] = np.uint32 if edges[NODE_SPLITS[0]].total < 1 << 32 else np.uint64
    step = NODES_AT_ONCE - NODES_AT_ONCE % partitioning.rows or NODES_AT_ONCE  # whole partitions, where any is as small
    for begin in range(0, partitioning.nodes, step):
        nodes = range(begin, min(begin + step, partitioning.nodes))
        for name, counted in zip(BY_NODE, count_nodes(edges, partitioning, nodes, dtype, progress)):
            found = read_array_range(folder / name, nodes.start, nodes.stop)
            if (wrong := first(found != counted)) is not None:
                raise damaged(folder / name, f"node {nodes[wrong]:,} has {found[wrong]:,}, by its edges {counted[wrong]:,}")
