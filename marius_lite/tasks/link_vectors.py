"""Give the vectors of nodes and of relations for an export of link prediction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from marius_lite.evaluate.pages import Buffer, Pages
from marius_lite.graph.dataset import Dataset
from marius_lite.tasks.task import Blocks, Exported

BLOCK_BYTES = 64 << 20

Values = npt.NDArray[np.float32]


def link_vectors(buffer: Buffer, dataset: Dataset, dim: int, relations: Values, facts: dict[str, Any]) -> Exported:
    """Return the tables of nodes and of relations.

    ``relations``: (relations or twice as many, relation_dim). A second half, the reciprocal relations, is a table of its own.
    """
    manifest = dataset.manifest
    ids = pa.array(dataset.relation_names())
    tables = [
        ("nodes", node_blocks(buffer, dataset, dim), manifest.nodes),
        *((name, iter([(ids, {"vector": rows})]), len(rows)) for name, rows in relation_tables(relations, manifest.relations)),
    ]
    return Exported(tables, {}, {"relations": manifest.relations, "dim": dim, **facts})


def node_blocks(buffer: Buffer, dataset: Dataset, dim: int) -> Blocks:
    """Yield raw ids and vectors (m, dim) of all nodes in order of node id, in blocks of at most BLOCK_BYTES."""
    pages = Pages(buffer, dataset.partitioning, dim)
    rows = max(1, BLOCK_BYTES // (dim * 4))
    for k, values in pages.each(range(dataset.partitioning.partitions)):
        span = dataset.partitioning.range(k)
        ids = dataset.raw_ids(span.start, span.stop)
        for start in range(0, len(values), rows):
            yield ids[start : start + rows], {"vector": np.ascontiguousarray(values[start : start + rows])}


def relation_tables(relations: Values, count: int) -> Iterator[tuple[str, Values]]:
    """Yield (file name, rows) of the relations and of the reciprocal ones; nothing where a decoder has none."""
    if relations.size:
        yield "relations", relations[:count]
        if len(relations) > count:
            yield "reciprocal_relations", relations[count:]
