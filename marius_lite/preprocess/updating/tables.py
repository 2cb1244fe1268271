"""Pass `tables` of `update`: what is stored of nodes, for the nodes before and the new ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from marius_lite._native import crc32c
from marius_lite.errors import UserError
from marius_lite.graph.features import Features
from marius_lite.graph.multi_labels import MultiLabels
from marius_lite.graph.node_columns import LABELS, SPLIT, TABLES, NodeColumn
from marius_lite.preprocess.disk.passes import Files
from marius_lite.preprocess.disk.site import Site
from marius_lite.preprocess.repartitioning.nodes import row_tables
from marius_lite.preprocess.updating.nodes import PlacedNodes
from marius_lite.preprocess.updating.options import UpdateOptions
from marius_lite.storage.columns import create_node_column
from marius_lite.storage.metadata import create_group
from marius_lite.storage.table import RowTable

NOTHING = {LABELS: -1, SPLIT: 0}
"""What a new node has in each column: no label, no split."""


def grow_tables(site: Site, options: UpdateOptions, placed: PlacedNodes) -> Files:
    """Write ``tables/``: chunks that stay as they are, shared by hard links, and new ones. New nodes have no label and no split.

    Returns (size, crc32c) of the files. Raises UserError for new nodes where every node has a row of numbers.
    """
    old = options.old
    tables = row_tables(old)
    columns = {
        place: column for place, column in ((LABELS, old.labels), (SPLIT, old.node_splits)) if isinstance(column, NodeColumn)
    }
    if tables and placed.new:
        what = " and ".join(place.name for place in tables)
        raise UserError(
            f"{old.path}: {placed.new:,} new nodes in these edges, and update cannot give them {what}: make it again with "
            "`marius-lite preprocess`, or leave out the edges of new nodes"
        )
    if not (tables or columns):
        return {}
    create_group(site.root / TABLES)
    written: Files = {}
    for place, rows in tables.items():
        written |= _share_rows(site.root / place, rows)
    for place, column in columns.items():
        written |= _grow_column(site.root / place, column, placed, NOTHING[place])
    return written


def _share_rows(path: Path, rows: Features | MultiLabels) -> Files:
    old, written = rows.table, Files()
    new = RowTable.create(path, old.nodes, old.width, old.rows_per_partition, old.attributes, old.dtype)
    for k, checksum in rows.checksums.items():
        new.chunks.share(k, old.chunks)
        written |= new.chunks.entry(k, checksum)
    return written


def _grow_column(path: Path, column: NodeColumn, placed: PlacedNodes, nothing: int) -> Files:
    rows, written = column.partitioning.rows, Files()
    new = create_node_column(path, column.dtype, placed.known + placed.new, rows)
    whole = placed.known // rows
    for k in range(whole):
        new.share(k, column.chunks)
        written |= new.entry(k, column.checksums[k])
    for k in range(whole, new.count):
        values = np.zeros(rows, column.dtype)
        values[: placed.known + placed.new - k * rows] = nothing
        if k < column.partitioning.partitions:
            before = column.read(k)
            values[: len(before)] = before
        with new.creating(k) as write:
            write(values.view(np.uint8))
        written |= new.entry(k, crc32c(values.view(np.uint8)))
    return written
