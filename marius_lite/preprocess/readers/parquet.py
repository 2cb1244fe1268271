"""Parquet edge lists, one batch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.options import VALUES, Options
from marius_lite.preprocess.readers.arrays import checked_edges, is_value, kind_of
from marius_lite.preprocess.readers.raw import RawEdges
from marius_lite.preprocess.readers.roles import columns_used, find_roles
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
        names = self._schema.names
        self._roles = {role: names[place] for role, place in find_roles(names, len(names), options, str(path))[0].items()}
        types = {role: self._schema.field(name).type for role, name in self._roles.items()}
        for role, type in types.items():
            if not is_value(role, type) if role in VALUES else kind_of(type) is None:
                allowed = {"weight": "weights must be numbers", "time": "times must be integers"}
                raise UserError(f"{path}: column {self._roles[role]!r} ({role}) is of type {type}: "
                                f"{allowed.get(role, 'ids must be integers or strings')}")
        self.kind: IdKind = "int" if kind_of(types["src"]) == kind_of(types["dst"]) == "int" else "str"
        self.columns = columns_used(self._roles)
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
            yield checked_edges(str(self.path), first, columns, kind, self._skip)
            first += len(batch)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with reading(self.path), pq.ParquetFile(self.path) as opened:
            yield from opened.iter_batches(self._block_rows, columns=list(self._roles.values()))
