"""The disk that preprocess takes on the way and for its result: planned, asked for, used.

How many nodes there are is known once the files are read. Before, the plan is two: what is needed for sure, and at most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from marius_lite import files
from marius_lite.errors import RunError
from marius_lite.files import format_bytes
from marius_lite.graph.edges import CARRIED
from marius_lite.log import log
from marius_lite.preprocess.disk.sort import WORD_BYTES
from marius_lite.preprocess.disk.spool import CARRIED_BYTES, KEY_BYTES
from marius_lite.preprocess.edges.adjacency import list_edge_bytes
from marius_lite.preprocess.edges.buckets import count_dtype
from marius_lite.preprocess.gather.gather import Gathered
from marius_lite.preprocess.ids.numbering import Numbering, id_dtype
from marius_lite.preprocess.nodes.features import stored_bytes
from marius_lite.preprocess.nodes.node_data import NodeData
from marius_lite.preprocess.nodes.node_types import CODE_BYTES
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.plan import sort_memory
from marius_lite.preprocess.readers.source import InputFile, magic_of
from marius_lite.storage.columns import CHUNK, chunk_length

COLUMN_BYTES = 4  # src, dst, rel of a stored edge
OFFSET_BYTES, COUNT_BYTES, CHECKSUM_BYTES = 8, 24, 4  # of a bucket: where it begins, edges of each split, checksum of a column
END_BYTES = INT_BYTES = 8  # where a string ends; an integer
TABLE_ROW = 6  # what a row of nodes.parquet takes beside its raw id
DEALT_ROW = 16  # the same, while names are put in order
LABEL_BYTES = 9  # a class number and the code of a split, stored
PLACED_BYTES = 5  # the same on the way
ARC_BYTES, LIST_BYTES = 16, 12  # of an arc that is sorted; in the lists of all levels of a partitioner
PACKED = 4  # a compressed file holds so many times its size, or less
BLOCK = 512  # the unit of st_blocks
SMALL_FILES = 1 << 18  # metadata, report, relations; blocks that files do not fill


@dataclass(frozen=True)
class DiskSizes:
    """What the disk follows from: ``rows`` of the input, ``reverses`` that are sorted with them (`Options.reverses_sought`),
    bytes ``spooled`` of each row and ``words`` of its record, columns ``carried``; ``nodes``, bytes of their ``names``, of
    dictionaries (``ids``) and of what turns keys into ids (``numbers``)."""

    rows: int
    reverses: int
    spooled: int
    words: int
    carried: tuple[str, ...]
    relations: bool
    nodes: int
    names: int
    ids: int
    numbers: int
    partitions: int
    typed: bool  # nodes have types


def sizes_before(inputs: Sequence[InputFile], rows: int, options: Options, node_data: NodeData | None, most: bool) -> DiskSizes:
    """With the fewest nodes that there can be, or with as many as there are ends of edges, ids as long as lines allow."""
    given = 0 if node_data is None else node_data.rows.count
    carried, relations = options.values, options.columns is None or len(options.columns) > 2
    spooled = KEY_BYTES * (2 + (relations and most)) + CARRIED_BYTES * len(carried)
    nodes = 2 * rows + given if most else max(1, given)
    packed = sum(file.path.stat().st_size * (1 if magic_of(file.path) in ("text", "npy") else PACKED) for file in inputs)
    name = max(INT_BYTES, packed // max(1, 2 * rows)) if most else 0
    each = name + END_BYTES + KEY_BYTES
    reverses = rows if most and options.reverses_sought and (options.valid or options.test) else 0
    return DiskSizes(rows, reverses, spooled, 1 + most + len(carried), carried, relations and most, nodes, nodes * name,
                 nodes * each if most else 0, nodes * each if most else 0, options.partitions or 1,
                 options.node_types is not None)


def sizes_after(gathered: Gathered, numbering: Numbering, options: Options, words: int, relations: int,
                partitions: int) -> DiskSizes:
    """Once nodes are numbered."""
    reverses = sum(gathered.counts[1:]) if options.reverses_sought else 0
    runs, raw_ids = gathered.dictionaries.runs, numbering.raw_ids
    ends = END_BYTES if raw_ids.kind == "str" else 0
    ids = sum(run.bytes + (ends + KEY_BYTES) * run.count for run in runs) or gathered.dictionaries.bound // 8
    numbers = 0 if len(runs) == 1 else raw_ids.bytes + ends * raw_ids.count
    numbers += INT_BYTES * sum(run.count for run in runs) if len(runs) > 1 else 0
    return DiskSizes(sum(gathered.counts), reverses, gathered.shape.edge_bytes, words, gathered.shape.carried, relations > 1,
                 numbering.nodes, raw_ids.bytes, ids, numbers, partitions, gathered.node_types is not None)


@dataclass(frozen=True)
class DiskPlan:
    """What lies on disk at most while each pass runs, in bytes; with ``least``, what surely does.

    ``sorted``: runs were written, whatever the memory is now.
    """

    sizes: DiskSizes
    options: Options
    node_data: NodeData | None
    sorted: bool = False
    least: bool = False

    @property
    def most(self) -> int:
        return max(self.passes().values())

    def passes(self) -> dict[str, int]:
        """By pass."""
        sizes, placed = self.sizes, self._on_the_way
        begun = self._spool + sizes.ids + self._listed
        kept = begun + sizes.numbers
        names = sizes.names + sizes.nodes * (TABLE_ROW + CODE_BYTES * sizes.typed)
        kept_runs = placed + names + self._tables
        found = {
            "read": begun + self._spool * (not self.least),  # it is written again where integers turn out to be large
            "number": kept,
            "nodes": kept + placed,
            "partition": kept + placed + self._arcs,
            "names": kept + placed + names + sizes.names + sizes.nodes * DEALT_ROW * self._deals,
            "tables": kept + kept_runs,
            "sort": kept + kept_runs + self._runs,
            "write": (self._runs or kept) + kept_runs + self._edges + sizes.nodes * (len(self.options.splits) > 1),
            "adjacency": kept_runs + self._edges + self._lists,
        }
        return {name: size + SMALL_FILES * (not self.least) for name, size in found.items()}

    def __str__(self) -> str:
        runs = f"{format_bytes(self._runs)} of sorted runs" if self._runs else "sorting in memory"
        result = self.sizes.names + self.sizes.nodes * TABLE_ROW + self._tables + self._edges + self._lists
        return (f"{self.sizes.rows:,} edges of {self.sizes.nodes:,} nodes: {format_bytes(self._spool)} of spooled edges, "
                f"{format_bytes(self.sizes.ids + self.sizes.numbers)} of ids, {runs}, then {format_bytes(result)} of dataset; at "
                f"most {format_bytes(self.most)} of disk at a time")

    @property
    def _spool(self) -> int:
        return self.sizes.rows * self.sizes.spooled

    @property
    def _stored(self) -> int:
        return self.sizes.rows * (2 if self.options.undirected else 1)

    @property
    def _runs(self) -> int:
        records = (self._stored + self.sizes.reverses) * self.sizes.words * WORD_BYTES
        return records if self.sorted or records > sort_memory(self.options) else 0

    @property
    def _edges(self) -> int:
        """``edges/``, and what is counted: chunk files are filled up, where a split is of unknown size or has several."""
        options, sizes, p = self.options, self.sizes, self.sizes.partitions
        splits, chunk = len(options.splits), chunk_length(self._stored)
        filled = -(-self._stored // chunk) * chunk
        if self.least:
            filled = 0 if options.drop_duplicates else self._stored
        elif splits > 1 and (options.fractions or self._stored > CHUNK):
            filled = self._stored + splits * chunk
        edge = 3 * COLUMN_BYTES + sum(np.dtype(CARRIED[name]).itemsize for name in sizes.carried)
        bucket = splits * (OFFSET_BYTES + CHECKSUM_BYTES * (3 + len(sizes.carried))) + COUNT_BYTES
        return filled * edge + p * p * bucket + sizes.nodes * np.dtype(count_dtype(self._stored)).itemsize

    @property
    def _lists(self) -> int:
        if self.options.adjacency == "none" or (self.least and (self.options.fractions or self.options.drop_duplicates)):
            return 0
        edge = list_edge_bytes(self.sizes.nodes, self.sizes.relations, "weight" in self.sizes.carried)
        chunk = chunk_length(self._stored)
        ends = self.sizes.nodes + self.sizes.partitions
        return -(-self._stored // chunk) * chunk * edge + -(-ends // chunk_length(ends)) * chunk_length(ends) * END_BYTES

    @property
    def _listed(self) -> int:
        """Keys of the rows of node data, of the nodes of splits, of those that have types."""
        typed = (KEY_BYTES + CODE_BYTES) * self.sizes.nodes * self.sizes.typed
        if self.node_data is None:
            return typed
        own = 0 if self.node_data.label_rows is None else self.node_data.label_rows.count
        return typed + (2 * self.node_data.rows.count + own) * KEY_BYTES

    @property
    def _deals(self) -> bool:
        """Whether nodes get other ids than the first."""
        return self.options.partitioner != "random" or (self.node_data is not None and self.node_data.sets is not None)

    @property
    def _on_the_way(self) -> int:
        """By id: places, labels, splits and types; by row: ids, before and after the places are known."""
        each = np.dtype(id_dtype(self.sizes.nodes)).itemsize
        rows = 0 if self.node_data is None else self.node_data.rows.count
        placed = each * (self.options.partitioner != "random") + PLACED_BYTES * bool(rows) + CODE_BYTES * self.sizes.typed
        return self.sizes.nodes * placed + rows * 2 * each

    @property
    def _tables(self) -> int:
        """``tables/``, and places of spooled rows; spools and what is written are together never more than all rows."""
        if self.node_data is None:
            return 0
        features, labels = self.node_data.features, self.node_data.labels
        rows = [table for table in (features, labels.table if labels else None) if table is not None]
        columns = (self.sizes.nodes + self.sizes.partitions) * LABEL_BYTES * (labels is not None)
        return sum(map(stored_bytes, rows)) + 4 * self.sizes.nodes * bool(rows) + columns

    @property
    def _arcs(self) -> int:
        arcs = 2 * self.sizes.rows
        if self.options.partitioner == "random":
            return 0
        return arcs * ((ARC_BYTES if arcs * ARC_BYTES > sort_memory(self.options) else 0) + LIST_BYTES) + 8 * self.sizes.nodes


def require_space(inputs: Sequence[InputFile], rows: int, options: Options, node_data: NodeData | None,
                  count: Callable[[], int]) -> None:
    """Say what disk this takes for about ``rows``, before anything is read. Raises UserError where less is free than is needed
    for sure: for as many rows as ``count`` then finds."""

    def needed(rows: int, most: bool = False) -> int:
        return DiskPlan(sizes_before(inputs, rows, options, node_data, most), options, node_data, least=not most).most

    least, most = needed(rows), needed(rows, most=True)
    log.info(f"{options.output}: about {rows:,} edges: {format_bytes(least)} of disk at a time, up to {format_bytes(most)} "
             "where there are many nodes")
    features = "" if node_data is None or node_data.features is None else f" and {node_data.features.rows:,} feature rows"
    if least > files.free_bytes(options.output.absolute()):
        rows = count()
        files.require_space(options.output, needed(rows), f"preprocessing {rows:,} edges{features}")


def require_rest(plan: DiskPlan, folder: Path, done: Callable[[str], bool]) -> None:
    """The same once nodes are numbered, for the passes that are not ``done``. Raises RunError: ``folder`` stays as it is."""
    needed = max((size for name, size in plan.passes().items() if not done(name)), default=0)
    if not done("adjacency"):
        log.info(f"{plan.options.output}: {plan}")
        purpose = f"preprocessing {plan.sizes.rows:,} edges of {plan.sizes.nodes:,} nodes"
        require_more(folder, needed, purpose, plan.options.output)


def require_more(folder: Path, needed: int, purpose: str, output: Path) -> None:
    """Raise RunError unless what is in ``folder`` may grow to ``needed`` bytes."""
    more, free = needed - used_bytes(folder), files.free_bytes(folder)
    if more > free:
        raise RunError(f"{output}: {purpose} needs {format_bytes(more)} more of disk, {format_bytes(free)} are free: make room "
                       f"for {format_bytes(more - free)}, then the same command goes on")


def used_bytes(folder: Path) -> int:
    """What the files under ``folder`` take on disk."""
    return sum(path.lstat().st_blocks * BLOCK for path in folder.rglob("*"))
