"""First pass over the files: raw ids into the dictionaries, edges in provisional ids into the spool."""

from __future__ import annotations

import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from tqdm import tqdm

from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind
from marius_lite.graph.manifest import Source
from marius_lite.preprocess.bad_rows import BadRows, warning
from marius_lite.preprocess.node_data import NodeData
from marius_lite.preprocess.options import SPLITS, Options
from marius_lite.preprocess.readers.detect import open_reader
from marius_lite.preprocess.readers.raw import BadRow, RawEdges, Reader
from marius_lite.preprocess.readers.source import InputFile
from marius_lite.preprocess.renumber import NodeIds, RelationIds, id_dtype
from marius_lite.preprocess.spool import Spool, SpooledEdges

MOST_BLOCK_BYTES = 8 << 20
EXAMPLES = 10
MOST_REASONS = 100
IDS_AT_ONCE = 1 << 20


@dataclass
class Seen:
    """What the first pass saw."""

    rows: int = 0
    comments: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    self_loops_dropped: int = 0
    columns: int | None = None
    sources: list[Source] = field(default_factory=list)
    read_as: Counter[str] = field(default_factory=Counter)

    @property
    def warning(self) -> str | None:
        return warning(self.skipped.total(), self.rows + self.skipped.total())

    def note_bad(self, bad: list[BadRow]) -> None:
        for row in bad:
            known = row.reason in self.skipped or len(self.skipped) < MOST_REASONS
            self.skipped[row.reason if known else "other reasons"] += 1
        self.examples += [str(row) for row in bad[: EXAMPLES - len(self.examples)]]


class Gatherer:
    """Owns the dictionaries while files are read; ``kind`` of ids: as asked, else as in the first file."""

    def __init__(self, options: Options, folder: Path, threads: int, bad_rows: BadRows, node_data: NodeData | None = None):
        self.options = options
        self.bad_rows = bad_rows
        self.node_data = node_data
        self.seen = Seen()
        self.kind: IdKind | None = None if options.ids == "auto" else "int" if options.ids == "int" else "str"
        self.relations = RelationIds(options.seed, force_text=options.ids == "str")
        self._nodes: NodeIds | None = None
        self._threads = threads
        self._started = time.monotonic()
        self._block_bytes = max(1 << 16, min(MOST_BLOCK_BYTES, options.memory // (16 * (threads + 1))))
        self.spool = Spool(folder, block_edges=max(1 << 12, min(1 << 21, options.memory // 64)))

    @property
    def nodes(self) -> NodeIds:
        """The node dictionary. It begins, once the kind of ids is known, with those of the files about nodes."""
        if self._nodes is None:
            self._nodes = NodeIds(self.kind or "str", self.options.seed)
            if self.node_data is not None:
                self.node_data.number(self._nodes, self._block_bytes)
        return self._nodes

    def forget_nodes(self) -> None:
        """Give the memory of the node dictionary back."""
        self._nodes = None

    def finish_relations(self) -> tuple[IdKind, pa.Array, npt.NDArray[np.uint32]]:
        """(kind, raw ids in order, relation id of each provisional id); without a column one, nameless."""
        if self.seen.columns == 2:
            return "str", pa.array([""]), np.zeros(1, np.uint32)
        return self.relations.finish()

    def read(self, file: InputFile, bar: tqdm[Any]) -> None:
        """All edges of one file into the spool."""
        with closing(
            open_reader(file, self.options, self._block_bytes, self._threads, bar.update)
        ) as reader:
            self._say(file, reader)
            if reader.columns is not None:
                self._settle(file.path, reader.columns, reader.kind)
            self._announce(reader.nodes or range(0))
            for edges in reader.read(self.kind or "str"):
                self._take(edges, file.split)
                if self.node_data is not None:
                    self.node_data.require(self.nodes, file.path)
                rate = self.seen.rows / max(1e-3, time.monotonic() - self._started)
                bar.set_postfix_str(f"{self.seen.rows:,} edges, {rate / 1e6:.2f} M/s", refresh=False)
            source = Source(name=file.path.name, size=file.path.stat().st_size, crc32c=reader.checksum)
            if file.member is None or source not in self.seen.sources:
                self.seen.sources.append(source)

    def _say(self, file: InputFile, reader: Reader) -> None:
        """One line on standard error for each way of reading, at its first file."""
        ids = f", ids {self.kind or reader.kind}" if reader.kind else ""
        said = f"{reader.description}{ids}"
        if said not in self.seen.read_as:
            tqdm.write(f"{file.name}: read as {said}", file=sys.stderr)
        self.seen.read_as[said] += 1

    def _announce(self, ids: range) -> None:
        """Nodes that exist whether or not they have edges."""
        for first in range(ids.start, ids.stop, IDS_AT_ONCE):
            part = pa.array(np.arange(first, min(first + IDS_AT_ONCE, ids.stop)))
            self.nodes.add(part if self.nodes.kind == "int" else part.cast(pa.string()))

    def _settle(self, path: Path, columns: int, kind: IdKind | None) -> None:
        if self.seen.columns not in (None, columns):
            raise UserError(
                f"{path}: {columns} columns are used, the files before have {self.seen.columns}: all "
                "files must have a relation column, or none (--columns)"
            )
        self.seen.columns = columns
        self.kind = self.kind or kind

    def _take(self, edges: RawEdges, split: int) -> None:
        self.seen.comments += edges.comments
        self.seen.note_bad(edges.bad)
        self.bad_rows.append(edges.bad)
        if not len(edges.src):
            return
        self.seen.rows += len(edges.src)
        src, dst = self.nodes.add(edges.src), self.nodes.add(edges.dst)
        rel = np.zeros(len(src), np.uint32) if edges.rel is None else self.relations.add(edges.rel)
        if self.options.drop_self_loops:
            keep = src != dst
            self.seen.self_loops_dropped += int(len(src) - keep.sum())
            src, rel, dst = src[keep], rel[keep], dst[keep]
        narrow = id_dtype(len(self.nodes))
        self.spool.append(SpooledEdges(split, src.astype(narrow), rel, dst.astype(narrow)))


def gather(files: list[InputFile], options: Options, folder: Path, threads: int, bad_rows: BadRows,
           node_data: NodeData | None = None) -> Gatherer:
    """Read every file. Raises UserError for bad input, and where a split has no edges at all."""
    gatherer = Gatherer(options, folder, threads, bad_rows, node_data)
    total = sum(file.path.stat().st_size for file in files)
    with tqdm(total=total, unit="B", unit_scale=True, desc="read", mininterval=0.5) as bar:
        for file in files:
            gatherer.read(file, bar)
    gatherer.spool.flush()
    bad_rows.close()
    if said := gatherer.seen.warning:
        tqdm.write(f"warning: {said}", file=sys.stderr)
    for split, patterns in enumerate((options.edges, options.valid, options.test)):
        if patterns and not gatherer.spool.counts[split]:
            raise UserError(
                f"{', '.join(patterns)}: no edges at all for {SPLITS[split]}: give files with one edge "
                "per line"
            )
    return gatherer


def rows_expected(files: list[InputFile], options: Options) -> int:
    """About how many rows the files have, from sizes and first bytes; checks each file's shape on the way."""
    total = 0
    for file in files:
        reader = open_reader(file, options, 1 << 20, 1, lambda _: None)
        total += reader.rows_expected()
        reader.close()
    return total
