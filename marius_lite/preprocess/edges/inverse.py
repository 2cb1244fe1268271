"""Edges dealt by --split whose ends a training edge of another relation joins the other way round.

Stored edges are in the order of (bucket, destination, source). So the ends of an edge make a number that ascends in the file, and
an edge that is turned round has the number of the training edges that are sought. Few edges are looked up among many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

import numpy as np
import numpy.typing as npt

from marius_lite.graph.edges import EDGES_AT_ONCE, EdgeBuckets
from marius_lite.storage.background import read_ahead

ENDS = ("src", "dst")
TOO_MANY_ROWS = 1 << 32  # of all partitions: below, two nodes make a number of 64 bits
EDGE_BYTES = 32  # of an edge while its number is made
LEAST_EDGES = 1 << 10  # at once, whatever the memory
Numbers = npt.NDArray[np.uint64]
NONE: Numbers = np.empty(0, np.uint64)


def inverse_edges(train: EdgeBuckets, others: Mapping[str, EdgeBuckets], memory: int) -> dict[str, int]:
    """Count the edges of the ``others`` (by split) whose ends a training edge joins the other way round, self-loops left out. An
    edge and its reverse of the same relation must stand in one split.

    ``memory``: bytes for other edges. Training edges are read once for as many as it holds. Empty, because not counted, where
    nodes are more than numbers are made for.
    """
    if train.partitioning.partitions * train.partitioning.rows >= TOO_MANY_ROWS:
        return {}
    most = max(LEAST_EDGES, memory // EDGE_BYTES // max(1, len(others)))
    found = dict.fromkeys(others, 0)
    for sought in zip_longest(*(_numbers(edges, most, turned=True) for edges in others.values()), fillvalue=NONE):
        for name, count in zip(others, _met(train, [np.sort(numbers) for numbers in sought])):
            found[name] += count
    return found


def _met(train: EdgeBuckets, sought: Sequence[Numbers]) -> list[int]:
    """Return how many of each ``sought`` ascending numbers are those of a training edge."""
    met, begins = [0] * len(sought), [0] * len(sought)
    for numbers in read_ahead(_numbers(train, EDGES_AT_ONCE)):
        for place, each in enumerate(sought):
            end = begins[place] + int(np.searchsorted(each[begins[place] :], numbers[-1], side="right"))
            part = each[begins[place] : end]
            met[place] += int(np.count_nonzero(numbers[np.searchsorted(numbers, part)] == part))
            begins[place] = end
    return met


def _numbers(edges: EdgeBuckets, most: int, turned: bool = False) -> Iterator[Numbers]:
    """Return the numbers of edges, at most ``most`` at a time; with ``turned`` of edges turned round that are no self-loops."""
    rows, p = edges.partitioning.rows, edges.partitioning.partitions
    for piece in edges.block(range(p), range(p), most, ENDS):
        src, dst = piece.columns
        i, j = np.divmod(piece.buckets, p)
        bucket = j * p + i if turned else piece.buckets
        numbers = np.repeat(bucket.astype(np.uint64) * np.uint64(rows**2), np.diff(piece.ends, prepend=0))
        numbers += (src if turned else dst).astype(np.uint64) * np.uint64(rows)
        numbers += dst if turned else src
        yield numbers[(src != dst) | np.repeat(i != j, np.diff(piece.ends, prepend=0))] if turned else numbers
