"""Edge lists in tables of named columns, read in batches of rows: Parquet, and Arrow's files and streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from marius_lite.errors import UserError
from marius_lite.files import reading
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.columns import VALUES
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.arrays import checked_edges, is_value, kind_of
from marius_lite.preprocess.readers.format import Format, Opening
from marius_lite.preprocess.readers.parquet_file import open_parquet
from marius_lite.preprocess.readers.raw import RawEdges, Reader, Stretch, shares
from marius_lite.preprocess.readers.roles import columns_used, find_roles, left_out, require_distinct
from marius_lite.preprocess.readers.source import Progress, checksum_of

ARROW_FILE = b"ARROW1"
NUM_NODES = b"num_nodes"
"""The key of a schema's metadata that says how many nodes there are: ids 0, 1, ..., with or without edges."""


class TableReader(ABC):
    """Reads a table. Columns are found by name (--columns or the usual names); else there are only two or three, in their
    order."""

    name: str
    lines = 0
    stretch: Stretch | None = None

    def __init__(self, path: Path, options: Options, block_rows: int, progress: Progress):
        self.path = path
        self._block_rows = block_rows
        self._options = options
        self._progress = progress
        self.checksum = 0
        with reading(path):
            self._schema, self._rows = self._look()
            names = self._schema.names
        self.nodes = _announced(self._schema, path)
        self._roles = {role: names[place] for role, place in find_roles(names, len(names), options, str(path))[0].items()}
        require_distinct(self.path, names, self._roles.values())
        types = {role: self._schema.field(name).type for role, name in self._roles.items()}
        for role, type in types.items():
            if not is_value(role, type) if role in VALUES else kind_of(type) is None:
                allowed = {"weight": "weights must be numbers", "time": "times must be integers"}
                ids = "ids must be integers or strings; say with --columns what columns are, for example src,dst,weight"
                raise UserError(f"{path}: column {self._roles[role]!r} ({role}) is of type {type}: {allowed.get(role, ids)}")
        self.kind: IdKind = "int" if kind_of(types["src"]) == kind_of(types["dst"]) == "int" else "str"
        self.columns, self.titles = columns_used(self._roles), tuple(self._roles.values())
        rest = left_out(names, map(names.index, self._roles.values()))
        self.description = f"{self.name}, columns {','.join(self._roles)} from {', '.join(self._roles.values())}{rest}"

    def close(self) -> None:  # noqa: B027 - the same for every table
        """Nothing stays open between blocks."""

    def rows_expected(self) -> int:
        return int(self._rows)

    def read(self, kind: IdKind) -> Iterator[RawEdges]:
        part = () if self.stretch is None else (self.stretch.begin, self.stretch.end)
        self.checksum = checksum_of(self.path, self._progress, *part)
        first = self._first_row()
        for batch in self._batches():
            columns = {role: batch.column(name) for role, name in self._roles.items()}
            yield checked_edges(str(self.path), first, columns, kind, self._options)
            first += len(batch)

    def _first_row(self) -> int:
        """Return the number of the first row that `_batches` reads."""
        return 0

    @abstractmethod
    def _look(self) -> tuple[pa.Schema, int]:
        """Return the schema, and an estimate of the number of rows."""

    @abstractmethod
    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Read the columns of `_roles`, at most ``_block_rows`` rows at a time."""


def _announced(schema: pa.Schema, path: Path) -> range | None:
    """Return the ids that exist with or without edges, where the schema's metadata has their number."""
    number = (schema.metadata or {}).get(NUM_NODES)
    if number is None:
        return None
    if not number.isdigit() or len(number) > 18:
        raise UserError(
            f"{path}: the metadata says {NUM_NODES.decode()} = {number.decode('utf-8', 'replace')[:40]!r}: no number of nodes"
        )
    return range(int(number))


class ParquetReader(TableReader):
    """A Parquet file."""

    name = "Parquet"

    def _look(self) -> tuple[pa.Schema, int]:
        with open_parquet(self.path) as opened:
            return opened.schema_arrow, opened.metadata.num_rows

    def stretches(self, size: int) -> list[Stretch]:
        """Return stretches of row groups, see `CuttableReader`."""
        with reading(self.path), open_parquet(self.path) as opened:
            groups, end = opened.metadata.num_row_groups, self.path.stat().st_size
        count = min(groups, -(-end // size))
        if count < 2:
            return []
        return [Stretch(*units, *part) for units, part in zip(shares(groups, count), shares(end, count))]

    def _groups(self, opened: pq.ParquetFile) -> range:
        return range(opened.metadata.num_row_groups) if self.stretch is None else range(self.stretch.first, self.stretch.last)

    def _first_row(self) -> int:
        with reading(self.path), open_parquet(self.path) as opened:
            return sum(opened.metadata.row_group(group).num_rows for group in range(self._groups(opened).start))

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with reading(self.path), open_parquet(self.path) as opened:
            yield from opened.iter_batches(self._block_rows, self._groups(opened), columns=list(self._roles.values()))


class ArrowReader(TableReader):
    """An IPC file (Feather) or stream. Each of its record batches is read as a whole."""

    name = "Arrow"

    def _look(self) -> tuple[pa.Schema, int]:
        with self._opened() as (schema, batches):
            first = list(islice(batches, 1))
        if not first or not first[0].nbytes:
            return schema, 0
        return schema, int(self.path.stat().st_size * first[0].num_rows / first[0].nbytes)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with reading(self.path), self._opened() as (_, batches):
            for batch in batches:
                used = batch.select(list(self._roles.values()))
                used.validate(full=True)  # Arrow trusts the file: it would read outside of buffers
                for first in range(0, len(used), self._block_rows):
                    yield used.slice(first, self._block_rows)

    @contextmanager
    def _opened(self) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        with closing(pa.OSFile(str(self.path))) as source:
            is_file = source.read(len(ARROW_FILE)) == ARROW_FILE
            source.seek(0)
            with pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source) as opened:
                yield opened.schema, map(opened.get_batch, range(opened.num_record_batches)) if is_file else iter(opened)


def _open_parquet(opening: Opening) -> Reader:
    reader = ParquetReader(opening.file.path, opening.options, opening.block_rows, opening.progress)
    reader.stretch = opening.stretch
    return reader


PARQUET = Format(_open_parquet, magic=("parquet",), values=True)
ARROW = Format(
    lambda opening: ArrowReader(opening.file.path, opening.options, opening.block_rows, opening.progress),
    magic=("arrow",),
    values=True,
)
