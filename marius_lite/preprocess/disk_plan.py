"""Plan the disk that preprocess takes, for files on the way and for its result, and require that it is free.

Functions named ``..._bytes`` stand beside what writes a file, and say how large it is. This module says which files lie on disk
together. The number of nodes is known only when the input is read. Before that there are two plans: the least and the most that
is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from marius_lite import files
from marius_lite.errors import RunError
from marius_lite.log import log
from marius_lite.preprocess.disk.sort import run_bytes
from marius_lite.preprocess.disk.spool import SpoolShape
from marius_lite.preprocess.edges.adjacency import list_edge_bytes, lists_bytes
from marius_lite.preprocess.edges.buckets import bucket_bytes, count_dtype, edge_bytes, edges_filled, tallied_bytes
from marius_lite.preprocess.edges.degrees import in_degrees_bytes, trained_bytes
from marius_lite.preprocess.edges.node_counts import counts_bytes
from marius_lite.preprocess.gather.gather import Gathered
from marius_lite.preprocess.ids.id_runs import INT_BYTES
from marius_lite.preprocess.ids.keys import dictionary_bytes, table_bytes
from marius_lite.preprocess.ids.numbering import Numbering, id_dtype, numbering_bytes
from marius_lite.preprocess.ids.renumber import dealt_bytes, names_bytes
from marius_lite.preprocess.nodes.node_data import NodeData, node_labels_bytes, node_lists_bytes
from marius_lite.preprocess.nodes.node_types import placed_types_bytes, type_keys_bytes
from marius_lite.preprocess.nodes.tables import row_ids_bytes, tables_bytes
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.partition.places import partitioner_bytes, places_bytes
from marius_lite.preprocess.plan import sort_memory
from marius_lite.preprocess.readers.source import InputFile, magic_of
from marius_lite.sizes import format_bytes

PACKED = 4  # a compressed file has at most so many times its size in it
BLOCK = 512  # the unit of st_blocks
SMALL_FILES = 1 << 18  # metadata, report, relations; blocks that files do not fill


@dataclass(frozen=True)
class DiskSizes:
    """What the size of the files follows from.

    ``rows``: rows of the input. ``reverses``: reversed edges that are sorted with them (`Options.reverses_sought`). ``spooled``:
    bytes of a spooled row. ``words``: words of a row's record when it is sorted. ``carried``: the columns that edges carry.
    ``names``, ``ids``, ``numbers``: bytes of the nodes' raw ids, of the dictionaries, and of what turns keys into ids.
    """

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
    """Return the sizes before the input is read: the least there can be, or with ``most`` the largest.

    At most there are as many nodes as ends of edges, and their ids are as long as lines allow.
    """
    given = 0 if node_data is None else node_data.rows.count
    carried, relations = options.values, options.columns is None or len(options.columns) > 2
    spooled = SpoolShape(relations and most, carried).edge_bytes
    nodes = 2 * rows + given if most else max(1, given)
    packed = sum(file.path.stat().st_size * (1 if magic_of(file.path) in ("text", "npy") else PACKED) for file in inputs)
    name = max(INT_BYTES, packed // max(1, 2 * rows)) if most else 0
    ids = table_bytes("str", nodes, nodes * name) if most else 0
    reverses = rows if most and options.reverses_sought and (options.valid or options.test) else 0
    return DiskSizes(
        rows,
        reverses,
        spooled,
        1 + most + len(carried),
        carried,
        relations and most,
        nodes,
        nodes * name,
        ids,
        ids,
        options.partitions or 1,
        options.node_types is not None,
    )


def sizes_after(
    gathered: Gathered, numbering: Numbering, options: Options, words: int, relations: int, partitions: int
) -> DiskSizes:
    """Return the sizes once nodes are numbered."""
    reverses = sum(gathered.counts[1:]) if options.reverses_sought else 0
    return DiskSizes(
        sum(gathered.counts),
        reverses,
        gathered.shape.edge_bytes,
        words,
        gathered.shape.carried,
        relations > 1,
        numbering.nodes,
        numbering.raw_ids.bytes,
        dictionary_bytes(gathered.dictionaries),
        numbering_bytes(numbering),
        partitions,
        gathered.node_types is not None,
    )


@dataclass(frozen=True)
class DiskPlan:
    """The bytes that lie on disk while each pass runs: at most, or with ``least`` the least that surely do.

    ``sorted``: whether runs were written already, whatever the memory is now.
    """

    sizes: DiskSizes
    options: Options
    node_data: NodeData | None
    sorted: bool = False
    least: bool = False

    @property
    def most(self) -> int:
        """The bytes of the pass that takes most."""
        return max(self.passes().values())

    def passes(self) -> dict[str, int]:
        """Return the bytes by pass."""
        sizes, placed = self.sizes, self._on_the_way
        begun = self._spool + sizes.ids + self._listed
        kept = begun + sizes.numbers
        names = names_bytes(sizes.nodes, sizes.names, sizes.typed)
        kept_runs = placed + names + self._tables
        found = {
            "read": begun + self._spool * (not self.least),  # it is written again where integers turn out to be large
            "number": kept,
            "nodes": kept + placed,
            "partition": kept + placed + self._arcs,
            "names": kept + placed + names + dealt_bytes(sizes.nodes * self._deals, sizes.names),
            "tables": kept + kept_runs,
            "sort": kept + kept_runs + self._runs,
            "write": (self._runs or kept) + kept_runs + self._edges + trained_bytes(sizes.nodes, self._splits),
            "adjacency": kept_runs + self._edges + self._lists,
        }
        return {name: size + SMALL_FILES * (not self.least) for name, size in found.items()}

    def __str__(self) -> str:
        runs = f"{format_bytes(self._runs)} of sorted runs" if self._runs else "sorting in memory"
        result = names_bytes(self.sizes.nodes, self.sizes.names) + self._tables + self._edges + self._lists
        return (
            f"{self.sizes.rows:,} edges of {self.sizes.nodes:,} nodes: {format_bytes(self._spool)} of spooled edges, "
            f"{format_bytes(self.sizes.ids + self.sizes.numbers)} of ids, {runs}, then {format_bytes(result)} of dataset; at "
            f"most {format_bytes(self.most)} of disk at a time"
        )

    @property
    def _spool(self) -> int:
        return self.sizes.rows * self.sizes.spooled

    @property
    def _stored(self) -> int:
        return self.sizes.rows * (2 if self.options.undirected else 1)

    @property
    def _splits(self) -> int:
        return len(self.options.splits)

    @property
    def _runs(self) -> int:
        records = run_bytes(self._stored + self.sizes.reverses, self.sizes.words)
        return records if self.sorted or records > sort_memory(self.options) else 0

    @property
    def _edges(self) -> int:
        """The bytes of ``edges/`` and of the counts."""
        sizes, p = self.sizes, self.sizes.partitions
        if self.least:
            filled = 0 if self.options.drop_duplicates else self._stored
        else:
            filled = edges_filled(self._stored, self._splits, self.options.fractions is not None)
        buckets = p * p * bucket_bytes(self._splits, sizes.carried) + tallied_bytes(p)
        counts = counts_bytes(sizes.nodes, p, count_dtype(self._stored)) + in_degrees_bytes(sizes.nodes, self._stored)
        return filled * edge_bytes(sizes.carried) + buckets + counts

    @property
    def _lists(self) -> int:
        if self.options.adjacency == "none" or (self.least and (self.options.fractions or self.options.drop_duplicates)):
            return 0
        edge = list_edge_bytes(self.sizes.nodes, self.sizes.relations, "weight" in self.sizes.carried)
        return lists_bytes(self.sizes.nodes, self.sizes.partitions, self._stored, edge)

    @property
    def _listed(self) -> int:
        """The bytes of the keys of nodes that have data, are in a split or have a type."""
        typed = type_keys_bytes(self.sizes.nodes) * self.sizes.typed
        return typed + (0 if self.node_data is None else node_lists_bytes(self.node_data))

    @property
    def _deals(self) -> bool:
        """Whether nodes get new ids after they were numbered."""
        return self.options.partitioner != "random" or (self.node_data is not None and self.node_data.sets is not None)

    @property
    def _on_the_way(self) -> int:
        """The bytes of files on the way: places, labels, splits and types by id; ids by row of the node data."""
        nodes, data = self.sizes.nodes, self.node_data
        each = np.dtype(id_dtype(nodes)).itemsize
        placed = places_bytes(nodes, each) * (self.options.partitioner != "random") + placed_types_bytes(nodes) * self.sizes.typed
        if data is None:
            return placed
        return placed + node_labels_bytes(data, nodes, each) + row_ids_bytes(data.rows.count, each)

    @property
    def _tables(self) -> int:
        """The bytes of ``tables/``, and of what is spooled for it."""
        return 0 if self.node_data is None else tables_bytes(self.node_data, self.sizes.nodes, self.sizes.partitions)

    @property
    def _arcs(self) -> int:
        if self.options.partitioner == "random":
            return 0
        return partitioner_bytes(self.sizes.rows, self.sizes.nodes, sort_memory(self.options))


def require_space(
    inputs: Sequence[InputFile], rows: int, options: Options, node_data: NodeData | None, count: Callable[[], int]
) -> None:
    """Log how much disk about ``rows`` edges take, before the input is read.

    Where less is free than the least that they need, ``count`` counts the rows exactly. Raises UserError where that is still so.
    """

    def needed(rows: int, most: bool = False) -> int:
        return DiskPlan(sizes_before(inputs, rows, options, node_data, most), options, node_data, least=not most).most

    least, most = needed(rows), needed(rows, most=True)
    log.info(
        f"{options.output}: about {rows:,} edges: {format_bytes(least)} of disk at a time, up to {format_bytes(most)} "
        "where there are many nodes"
    )
    features = "" if node_data is None or node_data.features is None else f" and {node_data.features.rows:,} feature rows"
    if least > files.free_bytes(options.output.absolute()):
        rows = count()
        files.require_space(options.output, needed(rows), f"preprocessing {rows:,} edges{features}")


def require_rest(plan: DiskPlan, folder: Path, done: Callable[[str], bool]) -> None:
    """Do the same once nodes are numbered, for the passes that are not ``done``.

    Raises RunError where less is free. ``folder`` then stays as it is, for the same command to go on.
    """
    needed = max((size for name, size in plan.passes().items() if not done(name)), default=0)
    if not done("adjacency"):
        log.info(f"{plan.options.output}: {plan}")
        purpose = f"preprocessing {plan.sizes.rows:,} edges of {plan.sizes.nodes:,} nodes"
        require_more(folder, needed, purpose, plan.options.output)


def require_more(folder: Path, needed: int, purpose: str, output: Path) -> None:
    """Raise RunError unless the disk has room for ``folder`` to grow to ``needed`` bytes."""
    more, free = needed - used_bytes(folder), files.free_bytes(folder)
    if more > free:
        raise RunError(
            f"{output}: {purpose} needs {format_bytes(more)} more of disk, {format_bytes(free)} are free: make room "
            f"for {format_bytes(more - free)}, then the same command goes on"
        )


def used_bytes(folder: Path) -> int:
    """Return the bytes that the files under ``folder`` take on disk."""
    return sum(path.lstat().st_blocks * BLOCK for path in folder.rglob("*"))
