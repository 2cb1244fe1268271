"""What a worker does by itself: it reads a shard of the input into a spool of its own, or sorts a shard of the spooled edges.

Nothing here knows how workers are started. A shard's folder has a name that no other attempt has, so a worker that was given up,
but still writes, disturbs nobody.
"""

from __future__ import annotations

import socket
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import marius_lite
from marius_lite import files
from marius_lite._native import EdgeLayout
from marius_lite.errors import MariusError, RunError
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess import plan
from marius_lite.preprocess.disk.sort import ExternalSort, SortedRun
from marius_lite.preprocess.disk.spool import Keys, SpoolBlock, SpoolShape, read_spool
from marius_lite.preprocess.edges.sorting import EdgePacker, Renumber
from marius_lite.preprocess.gather.bad_rows import WITH_UNIT, BadRows
from marius_lite.preprocess.gather.gather import Gatherer
from marius_lite.preprocess.gather.misread import Misreads
from marius_lite.preprocess.ids.keys import Dictionaries
from marius_lite.preprocess.ids.numbering import Numbering, with_ids
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.detect import open_reader
from marius_lite.preprocess.readers.raw import CuttableReader, Stretch
from marius_lite.preprocess.readers.source import InputFile

BAD_ROWS = "bad_rows"
MARK = "here"
"""A file in the folder of shards, by which a worker sees that the folder is the one that it should be."""
LayoutSizes = tuple[int, int, int, int]
"""The arguments of `EdgeLayout`."""


@dataclass(frozen=True)
class InputPart:
    """A file of the input, or a stretch of it."""

    file: InputFile
    size: int
    stretch: Stretch | None = None


@dataclass(frozen=True)
class ShardTask:
    """``number``: of the shard, in order. ``folder``: where its folder is made. ``options``: those of the command, with the
    memory of a worker. ``mark``: what the file `MARK` in the folder says."""

    number: int
    folder: Path
    options: Options
    mark: str
    version: str = field(default=marius_lite.__version__, kw_only=True)

    def own_folder(self) -> Path:
        """Return a folder that is not there yet. Raises RunError where this machine does not see ``folder``, or has another
        version of this program."""
        host = socket.gethostname()
        if marius_lite.__version__ != self.version:
            raise RunError(
                f"{host}: has marius-lite {marius_lite.__version__}, the command {self.version}: install the same everywhere"
            )
        mark = self.folder / MARK
        if not mark.exists() or mark.read_text() != self.mark:
            raise RunError(
                f"{host}: does not see {self.folder}: workers on several machines need the input and the output in a folder that "
                "all of them share, under the same name"
            )
        return self.folder / f"{self.number}.{uuid4().hex}"


@dataclass(frozen=True)
class InputTask(ShardTask):
    """Read ``pieces``. ``kind``, ``columns``: see `Gatherer`. ``first``: what saw the first row of the whole input."""

    pieces: tuple[InputPart, ...]
    kind: IdKind | None
    columns: int | None
    block_bytes: int
    first: Misreads


@dataclass(frozen=True)
class PartFacts:
    """What was read of a piece: its rows, and how many of its rows were bad. ``lines``: of text; ``checksum``: of its bytes."""

    bad: int
    lines: int
    checksum: int


@dataclass(frozen=True)
class ShardSpool:
    """What a worker has read. ``pieces``: those that were read to their ends. ``failure``: why the next one was not."""

    folder: Path
    pieces: tuple[PartFacts, ...]
    failure: MariusError | None = None
    rows: int = 0
    comments: int = 0
    self_loops_dropped: int = 0
    carried: tuple[str, ...] | None = None
    shape: SpoolShape = field(default=SpoolShape(False))
    blocks: tuple[SpoolBlock, ...] = ()
    dictionaries: Dictionaries | None = None
    relations: tuple[str, ...] = ()
    misreads: Misreads = field(default_factory=Misreads)


def read_shard(task: InputTask) -> ShardSpool:
    """Read a shard of the input into files of its own. Bad input is no error here: it is the result."""
    folder = task.own_folder()
    bad_rows = BadRows(folder / BAD_ROWS, WITH_UNIT)
    gatherer = Gatherer(task.options, folder, 1, bad_rows)
    gatherer.misreads, gatherer.kind, gatherer.facts.columns = Misreads(task.first), task.kind, task.columns
    done: list[PartFacts] = []
    try:
        for piece in task.pieces:
            done.append(_read_piece(gatherer, piece, task.block_bytes))
        gathered = gatherer.finish()
    except MariusError as error:
        return ShardSpool(folder, tuple(done), error)
    files.sync_tree(folder)
    facts = gathered.seen
    return ShardSpool(
        folder,
        tuple(done),
        None,
        facts.rows,
        facts.comments,
        facts.self_loops_dropped,
        facts.carried,
        gathered.shape,
        gathered.blocks,
        gathered.dictionaries,
        tuple(gathered.relations.names),
        gatherer.misreads,
    )


def _read_piece(gatherer: Gatherer, piece: InputPart, block_bytes: int) -> PartFacts:
    reader = open_reader(piece.file, gatherer.options, block_bytes, 1, lambda _: None, piece.stretch)
    with closing(reader):
        bad = sum(len(edges.bad) for edges in gatherer.take(reader.read(gatherer.kind or "str"), piece.file, reader))
        return PartFacts(bad, reader.lines if isinstance(reader, CuttableReader) else 0, reader.checksum)


@dataclass(frozen=True)
class RecordTask(ShardTask):
    """Sort the edges in ``blocks`` of the ``spool``. For ``layout`` and what follows it see `EdgeSort`."""

    spool: Path
    shape: SpoolShape
    blocks: tuple[SpoolBlock, ...]
    numbering: Numbering
    layout: LayoutSizes
    relation_ids: Keys
    last: Renumber
    dealt: Renumber


@dataclass(frozen=True)
class ShardSorted:
    """Sorted ``runs`` in a ``folder``."""

    folder: Path
    runs: tuple[SortedRun, ...]


def sort_shard(task: RecordTask) -> ShardSorted:
    """Sort a shard of the spooled edges into runs of its own."""
    folder, options, layout = task.own_folder(), task.options, EdgeLayout(*task.layout)
    records = sum(block.count for block in task.blocks) * (2 if options.undirected or options.reverses_sought else 1)
    sorter = ExternalSort(folder, plan.sort_memory(options), 1, records, layout.words)
    edges = with_ids(read_spool(task.spool, task.blocks, task.shape), task.numbering)
    EdgePacker(options, 1, layout, task.relation_ids, task.last, task.dealt).fill(sorter, edges)
    runs = sorter.finish_runs()
    files.sync_tree(folder)
    return ShardSorted(folder, tuple(runs))
