"""Parquet edge lists, one batch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.options import IGNORE, ROLES, Options
from marius_lite.preprocess.readers.arrays import checked_edges, kind_of
from marius_lite.preprocess.readers.raw import RawEdges
from marius_lite.preprocess.readers.sniff import SYNONYMS
from marius_lite.preprocess.readers.source import Progress, checksum_of, reading


class ParquetReader:
    """Columns by name (--columns or the usual names), else the only two or three in their order."""

    nodes: range | None = None

    def __init__(self, path: Path, options: Options, block_rows: int, progress: Progress):
        self.path = path
        self._block_rows = block_rows
        self._skip = options.on_bad_row == "skip"
        self._progress = progress
        self.checksum = 0
        with reading(path), pq.ParquetFile(path) as opened:
            self._schema = opened.schema_arrow
            self._rows = opened.metadata.num_rows
        self._roles = self._find_columns(options)
        kinds = {role: kind_of(self._schema.field(name).type) for role, name in self._roles.items()}
        for role, kind in kinds.items():
            if kind is None:
                name = self._roles[role]
                raise UserError(
                    f"{path}: column {name!r} ({role}) is of type {self._schema.field(name).type}: ids "
                    "must be integers or strings"
                )
        self.kind: IdKind = "int" if kinds["src"] == kinds["dst"] == "int" else "str"
        self.columns = len(self._roles)
        self.description = f"Parquet, columns {','.join(self._roles)} from {', '.join(self._roles.values())}"

    def close(self) -> None:
        """Nothing stays open between blocks."""

    def rows_expected(self) -> int:
        return int(self._rows)

    def read(self, kind: IdKind) -> Iterator[RawEdges]:
        self.checksum = checksum_of(self.path, self._progress)
        first = 0
        for batch in self._batches():
            columns = {role: batch.column(name) for role, name in self._roles.items()}
            yield checked_edges(
                str(self.path), first, columns["src"], columns.get("rel"), columns["dst"], kind, self._skip
            )
            first += len(batch)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with reading(self.path), pq.ParquetFile(self.path) as opened:
            yield from opened.iter_batches(self._block_rows, columns=list(self._roles.values()))

    def _find_columns(self, options: Options) -> dict[str, str]:
        names = self._schema.names
        found = {
            role: next((name for name in names if name.lower() in known), None)
            for role, known in SYNONYMS.items()
        }
        if options.columns is None:
            by_name = {role: name for role, name in found.items() if name is not None}
            if {"src", "dst"} <= set(by_name):
                return by_name
            if len(names) in (2, 3):
                return dict(zip(("src", "dst") if len(names) == 2 else ROLES, names))
            raise UserError(
                f"{self.path}: columns {', '.join(names)}: say which are source, relation and destination "
                "with --columns, by name"
            )
        wanted = options.columns
        if all(name in names for name in wanted):
            roles = wanted if wanted[0] in ROLES else ("src", "dst") if len(wanted) == 2 else ROLES
            return dict(zip(roles, wanted))
        if set(wanted) <= {*ROLES, IGNORE} and len(wanted) == len(names):
            return {role: name for role, name in zip(wanted, names) if role != IGNORE}
        raise UserError(
            f"{self.path}: --columns {','.join(wanted)}: the columns are {', '.join(names)}: use these names"
        )
