"""Pass `read` over the input files: raw ids become keys, edges in keys go to the spool, facts about the input are noted."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from tqdm import tqdm

from marius_lite import files
from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind
from marius_lite.graph.manifest import Source
from marius_lite.log import log
from marius_lite.preprocess.disk.passes import Files
from marius_lite.preprocess.disk.spool import Keys, Spool, SpoolBlock, SpooledEdges, SpoolShape, read_spool
from marius_lite.preprocess.edges.buckets import carried_words
from marius_lite.preprocess.gather.bad_rows import BadRows
from marius_lite.preprocess.gather.facts import InputFacts
from marius_lite.preprocess.gather.misread import Misreads, shown
from marius_lite.preprocess.ids.keys import DenseKeys, Dictionaries, NodeKeys, TableKeys, open_keys
from marius_lite.preprocess.ids.relations import NO_RELATIONS, RelationKeys, Relations
from marius_lite.preprocess.nodes.node_data import NodeData, NodeKeyLists
from marius_lite.preprocess.nodes.node_types import TypeKeys, TypeSource
from marius_lite.preprocess.options import SPLITS, Options
from marius_lite.preprocess.readers.detect import open_reader
from marius_lite.preprocess.readers.raw import RawEdges, Reader
from marius_lite.preprocess.readers.source import InputFile
from marius_lite.printable import printable
from marius_lite.progress_bar import progress_bar

MOST_BLOCK_BYTES = 8 << 20
IDS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Gathered:
    """What pass `read` leaves: the blocks of the spool, what its keys stand for, and ``seen``, the facts about the input."""

    spool: Path
    shape: SpoolShape
    blocks: tuple[SpoolBlock, ...]
    dictionaries: Dictionaries
    relations: Relations
    node_lists: NodeKeyLists | None
    node_types: TypeKeys | None
    seen: InputFacts  # the name is a key of progress.json

    @property
    def counts(self) -> list[int]:
        """How many edges of each split are spooled."""
        return [sum(block.count for block in self.blocks if block.split == split) for split in range(len(SPLITS))]

    @property
    def spooled(self) -> Files:
        """(size, crc32c) of the spool's files."""
        return {self.spool / str(block.number): (block.count * self.shape.edge_bytes, block.checksum) for block in self.blocks}

    def edges(self) -> Iterator[SpooledEdges]:
        """Read all spooled edges, block after block; blocks of one dictionary come together."""
        return read_spool(self.spool, sorted(self.blocks, key=lambda block: block.dictionary), self.shape)


class _TooLarge(Exception):
    """An integer is too large to be its own key."""


class Gatherer:
    """Reads files and owns the dictionaries meanwhile. ``kind`` of ids: the one asked for, else that of the first file."""

    def __init__(
        self,
        options: Options,
        folder: Path,
        threads: int,
        bad_rows: BadRows,
        node_data: NodeData | None = None,
        node_types: TypeSource | None = None,
    ):
        self.options, self.node_data, self.node_types, self.bad_rows = options, node_data, node_types, bad_rows
        self.facts, self.misreads, self._shown = InputFacts(), Misreads(), True
        self.kind, self._titles = options.id_kind, tuple[str, ...]()
        self._folder, self._ids, self._threads = folder, folder / "ids", threads
        self.relations = RelationKeys(options.seed, options.memory)
        self._nodes: NodeKeys | None = None
        self._spool: Spool | None = None
        self._lists: NodeKeyLists | None = None
        self._types: TypeKeys | None = None
        self._started = time.monotonic()
        self.block_bytes = block_bytes(options.memory, threads)
        folder.mkdir(parents=True)

    @property
    def nodes(self) -> NodeKeys:
        """The node dictionary. It is opened once the kind of ids is known. The ids of files about nodes come first."""
        if self._nodes is None:
            self._nodes = open_keys(self.kind or "str", self.options.seed, self._ids, self.options.memory, self._threads)
            self._key_lists()
        return self._nodes

    @property
    def _shape(self) -> SpoolShape:
        return SpoolShape(self.facts.columns == 3, self.facts.carried or ())

    @property
    def spool(self) -> Spool:
        if self._spool is None:
            self._spool = Spool(self._folder / "spool", self._block_edges, self._shape)
        return self._spool

    @property
    def _block_edges(self) -> int:
        return max(1 << 12, min(1 << 21, self.options.memory // 512))

    def read(self, file: InputFile, bar: tqdm[Any]) -> None:
        """Put all edges of one file into the spool."""
        with closing(open_reader(file, self.options, self.block_bytes, self._threads, bar.update)) as reader:
            self.begin(file, reader)
            for _ in self.take(reader.read(self.kind or "str"), file, reader):
                rate = self.facts.rows / max(1e-3, time.monotonic() - self._started)
                bar.set_postfix_str(f"{self.facts.rows:,} edges, {rate / 1e6:.2f} M/s", refresh=False)
            self.note_source(file, reader.checksum)

    def begin(self, file: InputFile, reader: Reader) -> None:
        """Check that a file fits those before it, and give keys to the nodes that it announces."""
        self._log_reading(file, reader)
        if reader.columns is not None:
            self._require_same_columns(file.path, reader.columns, reader.kind)
        if reader.titles:
            self._require_order(file.path, reader.titles)
            self.facts.titles = self.facts.titles or reader.titles
        self._add_nodes(reader.nodes or range(0))

    def take(self, blocks: Iterator[RawEdges], file: InputFile, reader: Reader) -> Iterator[RawEdges]:
        """Put blocks of a file's edges into the spool. Returns each once it is there."""
        for edges in blocks:
            self.inspect(edges, reader)
            self._spool_edges(edges, file)
            yield edges

    def note_source(self, file: InputFile, checksum: int) -> None:
        """Note a file that was read, by the checksum of its bytes."""
        source = Source(name=file.path.name, size=file.path.stat().st_size, crc32c=checksum)
        if file.member is None or source not in self.facts.sources:
            self.facts.sources.append(source)

    def finish(self) -> Gathered:
        """Close what was written, and return what the pass leaves."""
        self.spool.close()
        self.bad_rows.close()
        self.facts.misread = [
            *self.misreads.warnings,
            *(self.node_data.warnings if self.node_data else ()),
            *(self.node_types.warnings if self.node_types else ()),
        ]
        given = [*(self.node_data.sources() if self.node_data else ()), *([self.node_types.source] if self.node_types else ())]
        self.facts.sources += [source for source in given if source not in self.facts.sources]
        relations = NO_RELATIONS if self.facts.columns == 2 else Relations(self.relations.names(), self.options.ids == "str")
        return Gathered(
            self._folder / "spool",
            self._shape,
            tuple(self.spool.blocks),
            self.nodes.finish(),
            relations,
            self._lists,
            self._types,
            self.facts,
        )

    def _log_reading(self, file: InputFile, reader: Reader) -> None:
        """Log how a file is read, at the first file that is read so."""
        ids = f", ids {self.kind or reader.kind}" if reader.kind else ""
        read_as = f"{reader.description}{ids}"
        if read_as not in self.facts.read_as:
            log.info(printable(f"{file.shown}: read as {read_as}"))
            self._shown = False
        self.facts.read_as[read_as] += 1

    def inspect(self, edges: RawEdges, reader: Reader) -> None:
        """Show the first edges, and look for signs that rows are not the edges they are taken for."""
        if not len(edges.src):
            return
        self.show(edges)
        self.misreads.look(edges, reader.description, reader.titles)

    @property
    def shows_next(self) -> bool:
        """Whether edges of the file that was begun last are to be shown."""
        return not self._shown

    def show(self, edges: RawEdges) -> None:
        """Log the first edges of a way of reading that is new."""
        for line in shown(edges) if not self._shown else ():
            log.info(line)
        self._shown = True

    def open_nodes(self) -> None:
        """Give keys to the ids of the files about nodes, if that is not done."""
        assert self.nodes

    def _add_nodes(self, ids: range) -> None:
        """Add nodes that exist whether or not they have edges."""
        self.facts.announced |= len(ids) > 0
        for first in range(ids.start, ids.stop, IDS_AT_ONCE):
            part = pa.array(np.arange(first, min(first + IDS_AT_ONCE, ids.stop)))
            self._key(part if self.kind == "int" else part.cast(pa.string()))

    def _require_order(self, path: Path, titles: tuple[str, ...]) -> None:
        """Refuse a file that has the titles of the file before in another order: its columns were taken by their place."""
        if titles != self._titles and sorted(titles) == sorted(self._titles):
            raise UserError(
                f"{path}: columns {', '.join(titles)}, in another order than in a file before: say which is which by "
                f"their names, for example --columns {','.join(self._titles)}"
            )
        self._titles = titles

    def _require_same_columns(self, path: Path, columns: int, kind: IdKind | None) -> None:
        """Refuse a file whose number of columns is not that of the files before. The first file's kind of ids stays."""
        if self.facts.columns not in (None, columns):
            raise UserError(
                f"{path}: {columns} columns are used, the files before have {self.facts.columns}: all "
                "files must have a relation column, or none (--columns)"
            )
        self.facts.columns = columns
        self.kind = self.kind or kind

    def _carried(self, edges: RawEdges, path: Path) -> npt.NDArray[np.uint64] | None:
        """Return what edges carry, as words. Raises UserError where earlier files carry other columns."""
        given = (("weight", edges.weight), ("time", edges.time)) if self.options.needs_values else ()
        columns = {name: values for name, values in given if values is not None}
        self.note_carried(tuple(columns), path)
        return carried_words([values.to_numpy() for values in columns.values()]) if columns else None

    def note_carried(self, columns: tuple[str, ...], path: Path) -> None:
        """Note the columns that edges carry. Raises UserError where those of earlier files carry others."""
        if self.facts.carried not in (None, columns):
            raise UserError(
                f"{path}: its edges have {', '.join(columns) or 'no values'}, those of earlier files "
                f"{', '.join(self.facts.carried or ()) or 'no values'}: all files must have the same columns"
            )
        self.facts.carried = columns

    def _spool_edges(self, edges: RawEdges, file: InputFile) -> None:
        """Put a block of edges into the spool, in keys, and note what was left out of it."""
        self.facts.comments += edges.comments
        self.facts.note_bad(edges.bad)
        self.bad_rows.append(edges.bad)
        if not len(edges.src):
            return
        self.facts.rows += len(edges.src)
        carried = self._carried(edges, file.path)
        dictionary, (src, dst) = self._key(edges.src, edges.dst)
        rel = np.zeros(len(src), np.uint32) if edges.rel is None else self.relations.add(edges.rel)
        if self.options.drop_self_loops:
            keep = src != dst
            self.facts.self_loops_dropped += int(len(src) - keep.sum())
            src, rel, dst, carried = src[keep], rel[keep], dst[keep], None if carried is None else carried[keep]
        self.spool.append(SpooledEdges(file.split, dictionary, src, rel, dst, carried))

    def _key(self, *raw: pa.Array) -> tuple[int, list[Keys]]:
        """Return (dictionary, keys) of arrays of raw ids. All keys are of that dictionary."""
        try:
            return self._key_once(*raw)
        except _TooLarge:
            self._use_tables()
            return self._key_once(*raw)

    def _key_once(self, *raw: pa.Array) -> tuple[int, list[Keys]]:
        self.nodes.close_full_table()
        keys = [self.nodes.add(ids) for ids in raw]
        fitting = [one for one in keys if one is not None]
        if len(fitting) < len(raw):
            raise _TooLarge
        return self.nodes.dictionary, fitting

    def _use_tables(self) -> None:
        """Change from integers as their own keys to tables, as one is too large: all that has keys gets new ones."""
        old, dense = self._spool, self._nodes
        self._nodes = TableKeys("int", self.options.seed, self._ids, self.options.memory, self._threads)
        self._spool = None
        self._key_lists()
        for ids in dense.marked() if isinstance(dense, DenseKeys) else ():  # nodes without a spooled edge have keys too
            self._key(pa.array(ids))
        if old is None:
            return
        old.close()
        before = self._folder / "before"
        (self._folder / "spool").rename(before)
        for edges in read_spool(before, old.blocks, self._shape):
            dictionary, (src, dst) = self._key(*(pa.array(ends.astype(np.int64)) for ends in (edges.src, edges.dst)))
            self.spool.append(SpooledEdges(edges.split, dictionary, src, edges.rel, dst, edges.carried))
        files.remove_tree(before)

    def _key_lists(self) -> None:
        """Give keys to the ids of the files about nodes."""
        folder, kind = self._folder / "lists", self.kind or "str"

        def key(raw: pa.Array) -> tuple[int, Keys]:
            dictionary, (keys,) = self._key_once(raw)
            return dictionary, keys

        try:
            if self.node_data is not None:
                self._lists = self.node_data.key(folder, kind, self.block_bytes, key)
            if self.node_types is not None:
                self._types = self.node_types.key(folder, kind, self.block_bytes, key)
        except _TooLarge:
            self._use_tables()


def block_bytes(memory: int, threads: int) -> int:
    """Return how many bytes each of so many ``threads`` parses at a time."""
    return max(1 << 16, min(MOST_BLOCK_BYTES, memory // (16 * (threads + 1))))


def gather(
    inputs: Sequence[InputFile],
    options: Options,
    folder: Path,
    threads: int,
    bad_rows: BadRows,
    node_data: NodeData | None = None,
    node_types: TypeSource | None = None,
) -> Gathered:
    """Read every file. Raises UserError for bad input, and where a split that was asked for has no edges."""
    gatherer = Gatherer(options, folder, threads, bad_rows, node_data, node_types)
    total = sum(file.path.stat().st_size for file in inputs)
    with progress_bar("read", "B", total) as bar:
        for file in inputs:
            gatherer.read(file, bar)
    gathered = gatherer.finish()
    require_edges(gathered.counts, options)
    return gathered


def require_edges(counts: Sequence[int], options: Options) -> None:
    """Raise UserError where a split that was asked for has no edges. ``counts``: of each split."""
    for split, patterns in enumerate((options.edges, options.valid, options.test)):
        if patterns and not counts[split]:
            raise UserError(f"{', '.join(patterns)}: no edges at all for {SPLITS[split]}: give files with one edge per line")
