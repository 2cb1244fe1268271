"""Passes `read` and `sort` by several workers. The command itself cuts the work into shards, and puts the results together.

The dataset has the bytes that one process gives it: node ids follow from raw ids alone, edges from the order of their records.
What the report says of rows is put together in the order of the input.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from marius_lite import files
from marius_lite._native import crc32c_combine
from marius_lite.errors import UserError
from marius_lite.log import log
from marius_lite.preprocess.disk.site import Site
from marius_lite.preprocess.disk.sort import Records, SortedRun
from marius_lite.preprocess.disk.spool import SpoolBlock
from marius_lite.preprocess.edges.sorting import EdgeSort
from marius_lite.preprocess.gather.bad_rows import ROWS_AT_ONCE, BadRows, read_bad_rows
from marius_lite.preprocess.gather.gather import Gathered, Gatherer, block_bytes, require_edges
from marius_lite.preprocess.gather.misread import Misreads
from marius_lite.preprocess.ids.numbering import Numbering, with_ids
from marius_lite.preprocess.ids.relations import NO_RELATIONS, Relations
from marius_lite.preprocess.nodes.node_data import NodeData
from marius_lite.preprocess.nodes.node_types import TypeSource
from marius_lite.preprocess.option_texts import LEAST_MEMORY
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.detect import open_reader
from marius_lite.preprocess.readers.raw import BadRow, CuttableReader, RawEdges
from marius_lite.preprocess.readers.source import InputFile
from marius_lite.preprocess.workers.merging import IdSite, SpoolMerge
from marius_lite.preprocess.workers.shards import (
    BAD_ROWS,
    MARK,
    InputPart,
    InputTask,
    LayoutSizes,
    PartFacts,
    RecordTask,
    ShardSpool,
    read_shard,
    sort_shard,
)
from marius_lite.progress_bar import progress_bar
from marius_lite.sizes import format_bytes

SHARDS_EACH = 4  # of a worker: what is done anew where one dies is small, and all end at about the same time
LEAST_SHARD = 4 << 20  # bytes of the input
LEAST_SORTED = 1 << 20  # edges
MOST_LOOKED_AT = 8  # blocks at the beginning of a file, until one has edges


class Workers(Protocol):
    """``count`` processes, perhaps on several machines, that call functions."""

    @property
    def count(self) -> int: ...

    def results(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        """Return what ``function`` returns for each task, in order. A task whose process died is done anew. Raises what the
        function raises."""
        ...


@dataclass(frozen=True)
class WorkerEngine:
    """``workers`` share the memory of ``options``."""

    workers: Workers
    options: Options

    def __post_init__(self) -> None:
        if self._share < LEAST_MEMORY:
            raise UserError(
                f"--workers {self.workers.count}: each gets {format_bytes(self._share)} of --memory, and needs at least "
                f"{format_bytes(LEAST_MEMORY)}: give more --memory or fewer --workers"
            )

    @property
    def _share(self) -> int:
        return self.options.memory // self.workers.count

    @property
    def shared(self) -> Options:
        """The options of one worker."""
        return dataclasses.replace(self.options, memory=self._share)

    def say(self) -> None:
        """Log how many workers there are, and what each may take."""
        log.info(
            f"{self.options.output}: {self.workers.count} workers read and sort, each within {format_bytes(self._share)}, its "
            "part of --memory; the other passes take all of it, on this machine"
        )

    def gather(
        self,
        inputs: Sequence[InputFile],
        site: Site,
        folder: Path,
        bad_rows: Path,
        about_nodes: tuple[NodeData | None, TypeSource | None],
    ) -> Gathered:
        """Run pass `read`, see `gather.gather`."""
        own = Gatherer(self.options, folder, site.threads, BadRows(bad_rows), *about_nodes)
        reading = ShardReading(self, own, marked(folder / "shards"))
        return reading.run(inputs, IdSite(folder / "ids", self.options.seed, self.options.memory // 2, site.threads))

    def packed(self, sort: EdgeSort, layout: LayoutSizes, gathered: Gathered, numbering: Numbering) -> WorkerRecords:
        """Return the spooled edges as records to sort, of the ``layout`` that ``sort`` has."""
        return WorkerRecords(self, sort, layout, gathered, numbering)


def marked(folder: Path) -> tuple[Path, str]:
    """Make a folder for shards. Returns it, and what the mark in it says."""
    mark = uuid4().hex
    folder.mkdir(parents=True)
    (folder / MARK).write_text(mark)
    files.sync(folder / MARK)
    return folder, mark


class ShardReading:
    """Lets the workers of ``engine`` read the input. ``own`` keeps what is known of all of it. ``place``: the folder of shards,
    and its mark."""

    def __init__(self, engine: WorkerEngine, own: Gatherer, place: tuple[Path, str]):
        self._engine, self._own, self._place = engine, own, place
        self._block_bytes = block_bytes(engine.shared.memory, 1)
        self._first: Misreads | None = None
        self._lines: dict[InputFile, int] = {}
        self._checksums: dict[InputFile, int] = {}

    def run(self, inputs: Sequence[InputFile], ids: IdSite) -> Gathered:
        """Read all of ``inputs``. Raises UserError where the first of all readers would."""
        own = self._own
        tasks = self._tasks(self._pieces(inputs))
        own.open_nodes()
        spool = self._place[0].parent / "spool"
        spool.mkdir(exist_ok=True)
        merge = SpoolMerge(spool, own.relations)
        with progress_bar("read", "B", sum(piece.size for task in tasks for piece in task.pieces)) as bar:
            for task, read in zip(tasks, self._engine.workers.results(read_shard, tasks)):
                self._note(task, read)
                merge.add(read)
                bar.update(sum(piece.size for piece in task.pieces))
                files.remove_tree(read.folder / BAD_ROWS)
        for file in inputs:
            own.note_source(file, self._checksums[file])
        before = own.finish()
        dictionaries, blocks = merge.finish(before.dictionaries, ids)
        files.remove_tree(self._place[0])
        with_names = before.shape.relations
        relations = Relations(own.relations.names(), own.options.ids == "str") if with_names else NO_RELATIONS
        gathered = dataclasses.replace(before, blocks=blocks, dictionaries=dictionaries, relations=relations)
        require_edges(gathered.counts, own.options)
        return gathered

    def _pieces(self, inputs: Sequence[InputFile]) -> list[InputPart]:
        """Cut the input into pieces, and look at the beginning of each file."""
        own, size = self._own, sum(file.path.stat().st_size for file in inputs)
        each = max(LEAST_SHARD, size // (SHARDS_EACH * self._engine.workers.count))
        pieces: list[InputPart] = []
        for file in inputs:
            with closing(open_reader(file, own.options, self._block_bytes, 1, lambda _: None)) as reader:
                own.begin(file, reader)
                stretches = reader.stretches(each) if isinstance(reader, CuttableReader) else []
                pieces += [InputPart(file, part.end - part.begin, part) for part in stretches]
                if not stretches:
                    pieces.append(InputPart(file, file.path.stat().st_size))
                if self._first is None or own.shows_next:
                    self._look(pieces[-max(1, len(stretches))])
        return pieces

    def _look(self, piece: InputPart) -> None:
        """Show the first edges of a file, and look at them for signs of other blocks, if they are the first of all."""
        own, part = self._own, piece.stretch
        without_checksum = None if part is None else dataclasses.replace(part, end=part.begin)
        opened = open_reader(piece.file, own.options, self._block_bytes, 1, lambda _: None, without_checksum)
        with closing(opened) as reader, closing(_closable(reader.read(own.kind or "str"))) as blocks:
            try:
                edges = next((block for _, block in zip(range(MOST_LOOKED_AT), blocks) if len(block.src)), None)
            except UserError:
                return  # the shard that has the row says so
            if edges is None:
                return
            own.show(edges)
            if self._first is None:
                self._first = Misreads()
                self._first.look(edges, reader.description, reader.titles)

    def _tasks(self, pieces: Sequence[InputPart]) -> list[InputTask]:
        """Deal pieces to shards, in order, so that each has about as many bytes."""
        total = sum(piece.size for piece in pieces)
        each = max(LEAST_SHARD, total // (SHARDS_EACH * self._engine.workers.count))
        shards: list[list[InputPart]] = [[]]
        size = 0
        for piece in pieces:
            if shards[-1] and size + piece.size > each:
                shards.append([])
                size = 0
            shards[-1].append(piece)
            size += piece.size
        return [self._task(number, shard) for number, shard in enumerate(shards)]

    def _task(self, number: int, pieces: Sequence[InputPart]) -> InputTask:
        own, (folder, mark) = self._own, self._place
        first = self._first or Misreads()
        how = own.kind, own.facts.columns, self._block_bytes, first
        return InputTask(number, folder, self._engine.shared, mark, tuple(pieces), *how)

    def _note(self, task: InputTask, read: ShardSpool) -> None:
        """Note what a shard had, as if this process had read it. Raises the shard's failure, if it has one."""
        facts = self._own.facts
        rows = read_bad_rows(read.folder / BAD_ROWS)
        for piece, done in zip(task.pieces, read.pieces):
            self._note_bad(rows, done.bad, self._lines.get(piece.file, 0))
            self._note_piece(piece, done)
        if read.failure is not None:
            raise self._placed(task, read)
        facts.rows += read.rows
        facts.comments += read.comments
        facts.self_loops_dropped += read.self_loops_dropped
        if read.carried is not None:
            self._own.note_carried(read.carried, task.pieces[0].file.path)
        self._own.misreads.merge(read.misreads)

    def _note_bad(self, rows: Iterator[BadRow], count: int, before: int) -> None:
        """Note the next ``count`` bad rows. ``before``: lines of their file before the piece."""
        while count:
            some = [next(rows) for _ in range(min(count, ROWS_AT_ONCE))]
            count -= len(some)
            placed = [
                row if row.line is None or row.unit != "line" else dataclasses.replace(row, line=row.line + before)
                for row in some
            ]
            self._own.facts.note_bad(placed)
            self._own.bad_rows.append(placed)

    def _note_piece(self, piece: InputPart, done: PartFacts) -> None:
        file, stretch = piece.file, piece.stretch
        self._lines[file] = self._lines.get(file, 0) + done.lines
        if stretch is None:
            self._checksums[file] = done.checksum
        else:
            self._checksums[file] = crc32c_combine(self._checksums.get(file, 0), done.checksum, stretch.end - stretch.begin)

    def _placed(self, task: InputTask, read: ShardSpool) -> Exception:
        """Return the failure of a shard. Where it is in a stretch, whose lines the worker counted from 1, the stretch is read
        again here."""
        assert read.failure is not None
        piece = task.pieces[min(len(read.pieces), len(task.pieces) - 1)]
        before = self._lines.get(piece.file, 0)
        if piece.stretch is None or not before or not isinstance(read.failure, UserError):
            return read.failure
        placed = dataclasses.replace(piece, stretch=dataclasses.replace(piece.stretch, line=1 + before))
        again = read_shard(dataclasses.replace(task, pieces=(placed,)))
        return again.failure or read.failure


def _closable(blocks: Iterator[RawEdges]) -> Generator[RawEdges, None, None]:
    yield from blocks


class WorkerRecords:
    """See `edges.writing.Packed`. Where all records fit in memory, this process sorts them."""

    def __init__(self, engine: WorkerEngine, sort: EdgeSort, layout: LayoutSizes, gathered: Gathered, numbering: Numbering):
        self._engine, self._sort, self._layout, self._gathered, self._numbering = engine, sort, layout, gathered, numbering

    def sorted(self) -> Iterator[Records]:
        return self._sort.pack(with_ids(self._gathered.edges(), self._numbering)).sorted()

    def finish_runs(self) -> list[SortedRun]:
        """Let workers write sorted runs, and number them."""
        runs = self._sort.site.work / "runs"
        place = marked(runs)
        tasks = self._tasks(place)
        found: list[SortedRun] = []
        with progress_bar("sort", "edge", self._sort.amounts.read) as bar:
            for task, done in zip(tasks, self._engine.workers.results(sort_shard, tasks)):
                for number, run in enumerate(done.runs):
                    (done.folder / str(number)).rename(runs / str(len(found)))
                    found.append(run)
                bar.update(sum(block.count for block in task.blocks))
        for leftover in runs.iterdir():
            if leftover.is_dir() or leftover.name == MARK:
                files.remove_tree(leftover)
        return found

    def _tasks(self, place: tuple[Path, str]) -> list[RecordTask]:
        """Deal the blocks of the spool to shards, in order of their dictionaries."""
        sort, gathered, engine = self._sort, self._gathered, self._engine
        blocks = sorted(gathered.blocks, key=lambda block: block.dictionary)
        each = max(LEAST_SORTED, sum(block.count for block in blocks) // (SHARDS_EACH * engine.workers.count))
        shards: list[list[SpoolBlock]] = [[]]
        for block in blocks:
            if shards[-1] and sum(one.count for one in shards[-1]) + block.count > each:
                shards.append([])
            shards[-1].append(block)
        how = self._numbering, self._layout, sort.relation_ids, sort.last, sort.dealt
        return [
            RecordTask(number, place[0], engine.shared, place[1], gathered.spool, gathered.shape, tuple(shard), *how)
            for number, shard in enumerate(shards)
        ]
