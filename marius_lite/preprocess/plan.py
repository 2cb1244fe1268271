"""The disk that preprocess needs on the way and for its result, and what of its memory each part may take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from marius_lite.files import format_bytes
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.adjacency import adjacency_bytes
from marius_lite.preprocess.buckets import count_dtype, node_bytes
from marius_lite.preprocess.columns import CHUNK
from marius_lite.preprocess.features import stored_bytes
from marius_lite.preprocess.node_data import NodeData
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.sort import WORD_BYTES

COLUMN_BYTES = 4  # src, dst, rel of a stored edge
LABEL_BYTES = 9  # a class number and the code of a split


class Bounds(Protocol):
    """Of a command that writes a dataset: bytes of ``memory``, and the splits that there will be."""

    @property
    def memory(self) -> int: ...

    @property
    def splits(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class DiskPlan:
    """Bytes: ``spool`` of edges as they were read, ``runs`` of sorted records, ``edges`` as they are stored, ``rest`` of the
    dataset."""

    rows: int
    spool: int
    runs: int
    edges: int
    rest: int

    @property
    def most(self) -> int:
        """At any time. Spooled edges stay until all records are on disk or, if they fit the memory, written; so do runs."""
        return max(self.spool + self.runs, (self.runs or self.spool) + self.edges) + self.rest

    def __str__(self) -> str:
        runs = f"{format_bytes(self.runs)} of sorted runs" if self.runs else "sorting in memory"
        return (f"about {self.rows:,} edges: {format_bytes(self.spool)} of spooled edges, {runs}, then "
                f"{format_bytes(self.edges + self.rest)} of dataset; at most {format_bytes(self.most)} of disk at a time")


def plan_disk(rows: int, spooled_bytes: int, words: int, options: Options, node_data: NodeData | None) -> DiskPlan:
    """For ``rows`` edges of the input of ``spooled_bytes`` each, sorted as records of so many ``words``."""
    stored = rows * (2 if options.undirected else 1)
    records = stored * words * WORD_BYTES
    rest = adjacency_bytes(0, stored) if options.adjacency == "in" else 0
    if node_data is not None and node_data.features is not None:
        rest += stored_bytes(node_data.features)
    if node_data is not None and node_data.labels is not None:
        rest += node_data.rows.count * LABEL_BYTES
    runs = 0 if records <= sort_memory(options) else records
    return DiskPlan(rows, rows * spooled_bytes, runs, stored * 3 * COLUMN_BYTES, rest)


def sort_memory(options: Bounds) -> int:
    """What records being sorted may take, beside the ids of their keys and blocks of the spool."""
    return options.memory // 2


def pass_memory(options: Bounds) -> int:
    """What features being placed, or a partition's neighbour lists, may take."""
    return options.memory * 3 // 4


def merge_memory(options: Bounds, carried: int) -> int:
    """What records being merged may take, while each column of each split is written through two buffers of a chunk."""
    writers = 2 * CHUNK * len(options.splits) * (3 * COLUMN_BYTES + 8 * carried)
    return max(options.memory // 8, pass_memory(options) - writers)


def degrees_counted(partitioning: Partitioning, options: Bounds, edges: int) -> type[np.unsignedinteger[Any]] | None:
    """The dtype that counts the degrees of every node while ``edges`` are written, None where an 8th of the memory does not hold
    them."""
    dtype = count_dtype(edges)
    return dtype if partitioning.nodes * node_bytes(dtype) <= options.memory // 8 else None
