"""The edges to evaluate: all of a split or a fixed sample of it, in blocks, read bucket by bucket."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from marius_lite.evaluate.sampling import distinct
from marius_lite.graph.partitioning import Partitioning
from marius_lite.seeds import generator_for

CHUNK = 1 << 18
"""Edges read at a time where a bucket is only searched."""

Ids = npt.NDArray[np.int64]
Offsets = npt.NDArray[np.uint32]


class EdgeSource(Protocol):
    """What evaluation needs of `marius_lite.graph.edges.EdgeBuckets`."""

    partitioning: Partitioning

    @property
    def counts(self) -> npt.NDArray[np.int64]: ...

    @property
    def total(self) -> int: ...

    def stream(self, i: int, j: int, edges: int) -> Iterator[tuple[Offsets, Offsets, Offsets]]:
        """(src, dst, rel) of bucket (i, j), at most ``edges`` at a time."""


class EdgeBlock(NamedTuple):
    """Edges by node and relation id, each of shape (n,), int64."""

    src: Ids
    rel: Ids
    dst: Ids

    def split(self, size: int) -> Iterator[EdgeBlock]:
        """The same edges in blocks of at most ``size``."""
        for start in range(0, len(self.src), size):
            yield EdgeBlock(*(column[start:start + size] for column in self))


def select_edges(edges: EdgeSource, max_edges: int | None, seed: int,
                 block: int = CHUNK) -> Iterator[EdgeBlock]:
    """All edges of a split, or ``max_edges`` of them drawn without replacement, ``block`` at a time.

    The sample is the same for the same dataset and seed. Only buckets that hold a chosen edge are read;
    memory grows with ``block`` and ``max_edges``, never with the split.
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


def _chosen_edges(edges: EdgeSource, chosen: Ids | None, block: int) -> Iterator[EdgeBlock]:
    """Edges at the given positions (ascending, in bucket order), or all, piece by piece."""
    at = 0
    for (i, j), count in np.ndenumerate(edges.counts):
        start, at = at, at + int(count)
        if count == 0 or (chosen is not None and not _inside(chosen, start, at).size):
            continue
        for src, dst, rel in edges.stream(i, j, min(block, CHUNK)):
            stop = start + len(src)
            keep = slice(None) if chosen is None else _inside(chosen, start, stop) - start
            start = stop
            rows = edges.partitioning.rows
            yield EdgeBlock(src[keep].astype(np.int64) + i * rows, rel[keep].astype(np.int64),
                            dst[keep].astype(np.int64) + j * rows)


def _inside(ascending: Ids, start: int, stop: int) -> Ids:
    low, high = np.searchsorted(ascending, (start, stop))
    return ascending[low:high]


def _join(blocks: list[EdgeBlock]) -> EdgeBlock:
    return EdgeBlock(*(np.concatenate(columns) for columns in zip(*blocks)))
