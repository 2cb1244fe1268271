"""Passes `names` and `tables` of `repartition`: what is stored of nodes, cut by the new partitions."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from marius_lite.errors import UserError
from marius_lite.graph.dataset import REDO, Dataset
from marius_lite.graph.features import FEATURES, Features
from marius_lite.graph.multi_labels import MultiLabels
from marius_lite.graph.node_columns import LABELS, SPLIT, TABLES, NodeColumn
from marius_lite.graph.node_types import compact
from marius_lite.preprocess.disk.passes import Files
from marius_lite.preprocess.disk.rechunk import rechunk
from marius_lite.preprocess.ids.renumber import Types, write_names
from marius_lite.preprocess.repartitioning.site import RepartitionSite
from marius_lite.storage.checksum import file_checksum
from marius_lite.storage.columns import create_node_column
from marius_lite.storage.metadata import create_group
from marius_lite.storage.table import RowTable

NAMES_AT_ONCE = 1 << 16
NODES, RELATIONS = "nodes.parquet", "relations.parquet"


def rewrite_names(site: RepartitionSite) -> None:
    """Write ``nodes.parquet`` by the new partitions and copy ``relations.parquet``. Raises UserError where they are damaged."""
    old = site.old
    for path in (*old.name_files, old.path / RELATIONS):
        size, expected = site.manifest.files[path.relative_to(old.path).as_posix()]
        if file_checksum(path, size) != expected:
            raise UserError(f"{path}: does not match its checksum: copy the file again, or {REDO}")
    shutil.copyfile(old.path / RELATIONS, site.root / RELATIONS)
    write_names(site.root / NODES, site.manifest.ids, raw_id_blocks(old.name_files), site.partitioning, stored_types(old))


def rewrite_tables(site: RepartitionSite) -> Files:
    """Write ``tables/`` with a chunk for each new partition. Returns (size, crc32c) of the files."""
    given = [(LABELS, site.old.labels), (SPLIT, site.old.node_splits)]
    columns = [(place, column) for place, column in given if isinstance(column, NodeColumn)]
    tables = row_tables(site.old)
    if not (columns or tables):
        return {}
    create_group(site.root / TABLES)
    written: Files = {}
    for place, rows in tables.items():
        written |= _rewrite_rows(site, rows, place)
    for place, column in columns:
        written |= _rewrite_column(site, column, place)
    return written


def row_tables(dataset: Dataset) -> dict[Path, Features | MultiLabels]:
    """Return the tables that have a row of numbers for each node, by their place."""
    given = {FEATURES: dataset.features, LABELS: dataset.labels}
    return {place: rows for place, rows in given.items() if rows is not None and not isinstance(rows, NodeColumn)}


def stored_types(dataset: Dataset) -> Types | None:
    """Return what gives the types of a dataset's nodes; None where they have none."""
    types = dataset.types
    return None if types is None else lambda start, stop: compact(types.codes(start, stop), types.names)


def raw_id_blocks(paths: Iterable[Path]) -> Iterator[pa.Array]:
    """Return the raw ids of files of ids, in order."""
    for path in paths:
        with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
            for batch in file.iter_batches(NAMES_AT_ONCE, columns=["raw_id"]):
                yield batch.column(0)


def _rewrite_rows(site: RepartitionSite, rows: Features | MultiLabels, place: Path) -> Files:
    old = rows.table
    new = RowTable.create(site.root / place, old.nodes, old.width, site.partitioning.rows, old.attributes, old.dtype)
    return rechunk(old.chunks, rows.checksums, new.chunks, old.nodes * old.stride)


def _rewrite_column(site: RepartitionSite, column: NodeColumn, place: Path) -> Files:
    nodes = site.partitioning.nodes
    new = create_node_column(site.root / place, column.dtype, nodes, site.partitioning.rows)
    return rechunk(column.chunks, column.checksums, new, nodes * column.dtype.itemsize)
