"""Read the edges to evaluate: all of a split or a fixed sample of it, in blocks, in the order of buckets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from marius_lite.config.memory import KEPT_BYTES
from marius_lite.evaluate.sampling import distinct
from marius_lite.graph.edge_source import EdgeSource
from marius_lite.graph.edges import COLUMNS, EDGES_AT_ONCE, EdgePiece
from marius_lite.graph.kept import KeptEdges
from marius_lite.graph.partitioning import Partitioning
from marius_lite.seeds import generator_for
from marius_lite.types import Ids


class EdgeBlock(NamedTuple):
    """Edges as node ids and relation ids, (n,) int64 each."""

    src: Ids
    rel: Ids
    dst: Ids

    def split(self, size: int) -> Iterator[EdgeBlock]:
        """Yield the same edges in blocks of at most ``size``."""
        for start in range(0, len(self.src), size):
            yield EdgeBlock(*(column[start : start + size] for column in self))


def select_edges(edges: EdgeSource, max_edges: int | None, seed: int, block: int = EDGES_AT_ONCE) -> Iterator[EdgeBlock]:
    """Read all edges of a split, or ``max_edges`` of them drawn without replacement, ``block`` at a time.

    The sample is the same for the same dataset and seed. Only buckets that have a chosen edge are read. Memory grows with
    ``block`` and ``max_edges``, never with the split.
    """
    chosen = None
    if max_edges is not None and max_edges < edges.total:
        chosen = distinct(edges.total, max_edges, generator_for(seed, "evaluate/edges"))
    waiting: list[EdgeBlock] = []
    for part in _chosen_edges(edges, chosen, block):
        waiting.append(part)
        if sum(len(piece.src) for piece in waiting) >= block:
            *full, rest = _join(waiting).split(block)
            waiting = [rest]
            yield from full
    if waiting:
        yield _join(waiting)


def kept_where_few(splits: Sequence[EdgeSource], budget: int) -> tuple[Sequence[EdgeSource], int]:
    """Return the splits with their edges kept in memory, and the bytes of that, where all of them fit ``budget`` bytes.

    Else return the splits as they are, and 0.
    """
    size = sum(split.total for split in splits) * KEPT_BYTES
    return ([KeptEdges(split) for split in splits], size) if size <= budget else (splits, 0)


def _chosen_edges(edges: EdgeSource, chosen: Ids | None, block: int) -> Iterator[EdgeBlock]:
    """Read the edges at the given positions (ascending, counted bucket after bucket), or all, some at a time."""
    p, size = edges.partitioning.partitions, min(block, EDGES_AT_ONCE)
    if chosen is None:
        for piece in edges.block(range(p), range(p), size, COLUMNS):
            yield _whole_ids(piece, edges.partitioning, slice(None))
        return
    ends = np.cumsum(edges.counts.reshape(-1))
    for flat in np.unique(np.searchsorted(ends, chosen, side="right")).tolist():
        i, j = divmod(flat, p)
        start = int(ends[flat] - edges.counts[i, j])
        for piece in edges.block(range(i, i + 1), range(j, j + 1), size, COLUMNS):
            stop = start + len(piece.columns[0])
            yield _whole_ids(piece, edges.partitioning, _inside(chosen, start, stop) - start)
            start = stop


def _whole_ids(piece: EdgePiece, partitioning: Partitioning, keep: Ids | slice) -> EdgeBlock:
    """Return the edges at ``keep`` with whole node ids, instead of offsets inside partitions."""
    src, dst, rel = (column[keep].astype(np.int64) for column in piece.columns)
    i, j = np.divmod(piece.bucket_of_each()[keep], partitioning.partitions)
    return EdgeBlock(src + i * partitioning.rows, rel, dst + j * partitioning.rows)


def _inside(ascending: Ids, start: int, stop: int) -> Ids:
    """Return the numbers in [start, stop)."""
    low, high = np.searchsorted(ascending, (start, stop))
    return ascending[low:high]


def _join(blocks: list[EdgeBlock]) -> EdgeBlock:
    return EdgeBlock(*(np.concatenate(columns) for columns in zip(*blocks)))
