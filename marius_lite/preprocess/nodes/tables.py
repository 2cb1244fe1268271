"""Pass `tables`: features, labels and splits become ``tables/``, in the dataset's order of nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from marius_lite import files
from marius_lite.graph.features import FEATURES
from marius_lite.graph.manifest import Source
from marius_lite.graph.node_columns import LABELS, SPLIT, TABLES
from marius_lite.preprocess import plan
from marius_lite.preprocess.disk.passes import Files
from marius_lite.preprocess.disk.site import Site
from marius_lite.preprocess.nodes.features import FeatureWriter, StoredRows, spooled_places_bytes, stored_bytes
from marius_lite.preprocess.nodes.node_data import NodeData, NodeLabels
from marius_lite.preprocess.nodes.numbered import NumberedNodes
from marius_lite.storage.columns import write_node_column
from marius_lite.storage.metadata import create_group

LABEL, CODE = np.dtype(np.int64), np.dtype(np.uint8)
ROWS_AT_ONCE = 1 << 18  # whose ids are renumbered


@dataclass(frozen=True)
class Tables:
    """What was written to ``tables/``, and ``said``, the facts about it for the report."""

    files: Files
    said: dict[str, Any]  # the name is a key of progress.json
    sources: list[Source]


def write_tables(site: Site, given: NodeData | None, numbered: NumberedNodes) -> Tables:
    """Write ``tables/``, where there are features or labels."""
    if given is None or numbered.labels is None:
        return Tables({}, {}, [])
    create_group(site.root / TABLES)
    tables = _TableWriter(site, numbered, numbered.labels)
    sources = tables.write_features(given)
    tables.write_labels(given)
    tables.write_splits()
    return Tables(tables.files, tables.facts, sources)


def tables_bytes(given: NodeData, nodes: int, partitions: int) -> int:
    """What ``tables/`` takes at most, and beside it what is spooled meanwhile: spools and rows written from them are together
    never more than all rows."""
    rows = [table for table in (given.features, given.labels.table if given.labels else None) if table is not None]
    columns = (nodes + partitions) * (LABEL.itemsize + CODE.itemsize) * (given.labels is not None)
    return sum(map(stored_bytes, rows)) + spooled_places_bytes(nodes) * bool(rows) + columns


def row_ids_bytes(rows: int, id_bytes: int) -> int:
    """What the last ids of ``rows`` rows take while their table is written."""
    return rows * id_bytes


@dataclass
class _TableWriter:
    """Writes one table after the other. ``files`` and ``facts`` grow."""

    site: Site
    numbered: NumberedNodes
    labels: NodeLabels
    files: Files = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    def write_features(self, given: NodeData) -> list[Source]:
        """Write features, where there are any. Returns their file for the manifest."""
        if given.features is None:
            return []
        file = given.features
        writer = self._write_rows(FEATURES, file)
        self.facts["features"] = {
            "rows": file.rows,
            "width": file.width,
            "dtype": file.type,
            "source_dtype": file.source_dtype.name,
            "converted": file.source_dtype.name != file.type,
            "spooled_bytes": writer.spooled_bytes,
            "warnings": file.warnings,
        }
        return [Source(name=file.path.name, size=file.size, crc32c=file.checksum)]

    def write_labels(self, given: NodeData) -> None:
        if self.labels.labels is None or given.labels is None:
            return
        facts: dict[str, Any] = {"classes": given.classes, "labelled": self.labels.labelled}
        self.facts["labels"] = facts
        if given.labels.table is not None:
            self._write_rows(LABELS, given.labels.table)
            facts["multi_label"] = True
        else:
            self._write_column(LABELS, LABEL, files.read_numbers(self.labels.labels, np.int32))
        if given.labels.names:
            facts["names"] = given.labels.names

    def write_splits(self) -> None:
        if self.labels.codes is not None:
            self._write_column(SPLIT, CODE, files.read_numbers(self.labels.codes, CODE))
            self.facts["node_split"] = self.labels.counts

    def _write_rows(self, place: Path, file: StoredRows) -> FeatureWriter:
        """Write a table of the rows of ``file``. Returns its writer."""
        work, last = self.site.work, self.numbered.last
        row_ids, renumber, dtype = work / "row_ids", last.open(), last.dtype
        with open(row_ids, "wb") as out:
            for at in range(0, file.rows, ROWS_AT_ONCE):
                ids = files.read_numbers(self.labels.row_ids, dtype, ROWS_AT_ONCE, at * np.dtype(dtype).itemsize)
                out.write(renumber(ids).data)
        del renumber
        writer = FeatureWriter(
            file,
            self.site.root / place,
            row_ids,
            dtype,
            self.numbered.partitioning,
            work / place.name,
            plan.pass_memory(self.site.options),
        )
        writer.write()
        self.files |= writer.files
        return writer

    def _write_column(self, column: Path, dtype: Any, values: Any) -> None:
        placed = np.empty_like(values)
        for first, ids in self.numbered.last.blocks(len(values)):
            placed[ids] = values[first : first + len(ids)]
        nodes, rows = self.numbered.partitioning.nodes, self.numbered.partitioning.rows
        self.files |= write_node_column(self.site.root / column, dtype, nodes, rows, lambda ids: placed[ids.start : ids.stop])
