"""Find known true answers in the edge buckets. A filtered ranking leaves them out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from marius_lite.evaluate.candidates import Candidates
from marius_lite.evaluate.queries import Queries
from marius_lite.graph.edge_source import EdgeSource
from marius_lite.graph.edges import COLUMNS, EDGES_AT_ONCE, EdgePiece
from marius_lite.graph.partitioning import Partitioning
from marius_lite.types import Ids


class Known(NamedTuple):
    """Pairs (question, position of a candidate that is true), (m,) int64 each. They are sorted, without repetition."""

    key: Ids
    position: Ids


class KnownAnswers:
    """Finds the known answers in one partition at a time.

    All answers to (s, r, ?) in partition k are in bucket (partition of s, k), those to (?, r, t) in bucket (k, partition of t).
    So one row and one column of the buckets are read, a bounded number of edges at a time.
    """

    def __init__(self, splits: Sequence[EdgeSource], partitioning: Partitioning, candidates: Candidates, limit: int):
        """Prepare to find the answers that the edges of ``splits`` give.

        ``limit``: pairs in memory at a time, but at least the rows of a partition, which one question may need.
        """
        self._splits = splits
        self._limit = max(limit, partitioning.rows)
        self._partitioning = partitioning
        self._candidates = candidates

    def parts(self, queries: Queries, k: int) -> Iterator[tuple[int, int, Known]]:
        """Yield (first, last, known answers in partition k) for ranges of questions [first, last) that cover all questions."""
        waiting = [(0, queries.sides[2])]
        while waiting:
            first, last = waiting.pop()
            known = self.find(queries, k, first, last)
            if known is None:
                middle = (first + last) // 2
                waiting += [(middle, last), (first, middle)]
            else:
                yield first, last, known

    def find(self, queries: Queries, k: int, first: int, last: int) -> Known | None:
        """Return the answers in partition k to questions [first, last); None where they are too many for memory."""
        count = max(self._candidates.count(k), 1)
        found: list[Ids] = [np.empty(0, np.int64)]
        size = 0
        for keys, positions in self._matches(queries, k, first, last):
            found.append(keys * count + positions)
            size += len(keys)
            if size > self._limit:
                found = [np.unique(np.concatenate(found))]
                size = len(found[0])
                if size > self._limit:
                    return None
        return Known(*np.divmod(np.unique(np.concatenate(found)), count))

    def _matches(self, queries: Queries, k: int, first: int, last: int) -> Iterator[tuple[Ids, Ids]]:
        """Yield (questions, positions of true candidates in partition k), some at a time; a pair may come more than once."""
        if not self._candidates.count(k):
            return
        p, own = self._partitioning, range(k, k + 1)
        first_ids = np.arange(p.partitions + 1) * p.rows
        for side in (0, 1):
            bounds = queries.first_about(side, first_ids).clip(first, last)
            for others in _runs(np.flatnonzero(np.diff(bounds))):
                matcher = _Matcher(queries, side, range(bounds[others.start], bounds[others.stop]), p)
                grid = (others, own) if side == 0 else (own, others)
                for split in self._splits:
                    for piece in split.block(*grid, EDGES_AT_ONCE, COLUMNS):
                        questions, answers = matcher.match(piece)
                        positions = self._candidates.positions(k, answers)
                        yield questions[positions >= 0], positions[positions >= 0]


class _Matcher:
    """Finds edges that answer the questions ``span`` of one side."""

    def __init__(self, queries: Queries, side: int, span: range, partitioning: Partitioning):
        self._side, self._first, self._relations, self._partitioning = side, span.start, queries.relations, partitioning
        self._codes = queries.codes[span.start : span.stop]
        self._asked = np.zeros(partitioning.rows, bool)  # by offset, in whichever partition: it rules out most edges quickly
        self._asked[self._codes // queries.relations % partitioning.rows] = True

    def match(self, piece: EdgePiece) -> tuple[Ids, Ids]:
        """Return (question, offset of the answer in its partition) for each edge that answers a question."""
        src, dst, rel = piece.columns
        nodes, answers = (src, dst) if self._side == 0 else (dst, src)
        near = np.flatnonzero(self._asked[nodes])
        others = np.divmod(piece.bucket_of_each()[near], self._partitioning.partitions)[self._side]
        wanted = (nodes[near] + others * self._partitioning.rows) * self._relations + rel[near]
        at = np.minimum(np.searchsorted(self._codes, wanted), len(self._codes) - 1)
        hit = self._codes[at] == wanted
        return self._first + at[hit], answers[near[hit]].astype(np.int64)


def _runs(ascending: Ids) -> list[range]:
    """Return the ranges of consecutive numbers."""
    parts = np.split(ascending, np.flatnonzero(np.diff(ascending) > 1) + 1)
    return [range(int(part[0]), int(part[-1]) + 1) for part in parts if len(part)]
