"""Which types of nodes each relation connects, and how often. This shows edges that are turned round, and types that are
wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from marius_lite.graph.edges import EDGES_AT_ONCE, EdgeBuckets
from marius_lite.graph.ids import IdFile
from marius_lite.graph.node_types import Codes, NodeTypes
from marius_lite.preprocess.disk.site import Site
from marius_lite.preprocess.nodes.node_types import CODE_BYTES
from marius_lite.preprocess.nodes.numbered import NumberedNodes

NODES_SHARE = 8  # an 8th of --memory is for the types of all nodes, while edges are counted
MOST_COUNTED, MOST_LISTED = 1 << 20, 10_000
EdgeType = dict[str, Any]


def type_facts(site: Site, numbered: NumberedNodes, edges: Mapping[str, EdgeBuckets], relations: pa.Array) -> dict[str, Any]:
    """Return for the report: nodes by type, and edges by relation and types where these can be counted."""
    if (types := numbered.types) is None:
        return {}
    ids = IdFile(site.root / "nodes.parquet", numbered.numbering.raw_ids.kind)
    nodes = NodeTypes(ids, numbered.partitioning.nodes, types.names)
    counted = site.passes.once(
        "edge types", list[EdgeType], [], lambda: edge_types(edges, nodes, relations.to_pylist(), site.options.memory)
    )
    return {"node_types": types.report, **({"edge_types": counted} if counted else {})}


def edge_types(edges: Mapping[str, EdgeBuckets], nodes: NodeTypes, relations: Sequence[Any], memory: int) -> list[EdgeType]:
    """Count the stored edges of all splits by source type, relation and destination type. ``relations``: their raw ids. Returns
    the combinations that occur, ordered by relation, the most frequent first.

    Returns none where an 8th of ``memory`` (bytes) does not hold 2 bytes for each node, where more than a million combinations
    are possible, or where more than 10,000 occur.
    """
    types = len(nodes.names)
    if CODE_BYTES * nodes.count > memory // NODES_SHARE or types * types * len(relations) > MOST_COUNTED:
        return []
    counts = _counts(edges, nodes.codes(0, nodes.count), types, len(relations))
    occurring = np.argwhere(counts)
    if len(occurring) > MOST_LISTED:
        return []
    names = nodes.names.to_pylist()
    listed = [
        (r, {"source": names[s], "relation": relations[r], "destination": names[d], "edges": int(counts[r, s, d])})
        for r, s, d in occurring.tolist()
    ]
    return [entry for _, entry in sorted(listed, key=lambda each: (each[0], -each[1]["edges"]))]


def _counts(edges: Mapping[str, EdgeBuckets], codes: Codes, types: int, relations: int) -> npt.NDArray[np.int64]:
    """Count edges by (relation, source type, destination type). ``codes``: the type of each node, by id."""
    counts = np.zeros(relations * types * types, np.int64)
    for buckets in edges.values():
        rows, partitions = buckets.partitioning.rows, buckets.partitioning.partitions
        for low, (src, dst, rel, *_) in buckets.pieces(EDGES_AT_ONCE):
            flat = np.searchsorted(buckets.offsets, np.arange(low, low + len(src)), side="right") - 1
            i, j = np.divmod(flat, partitions)
            kinds = (rel.astype(np.int64) * types + codes[src + i * rows]) * types + codes[dst + j * rows]
            counts += np.bincount(kinds, minlength=len(counts))
    return counts.reshape(relations, types, types)
