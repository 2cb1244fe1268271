"""Known true answers: the candidates a filtered ranking leaves out, read from the edge buckets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from marius_lite.evaluate.candidates import Candidates
from marius_lite.evaluate.edges import CHUNK, EdgeSource, Offsets
from marius_lite.evaluate.queries import Queries
from marius_lite.graph.partitioning import Partitioning

Ids = npt.NDArray[np.int64]


class Known(NamedTuple):
    """Pairs (question, position of a candidate that is true), each once, sorted; both (m,), int64."""

    key: Ids
    position: Ids


class KnownAnswers:
    """Finds the known answers that one partition holds.

    All answers of a query (s, r, ?) inside partition k lie in bucket (partition of s, k), those of (?, r, t)
    in bucket (k, partition of t): one row and one column of the bucket grid, read in bounded pieces.
    """

    def __init__(self, splits: Sequence[EdgeSource], partitioning: Partitioning, candidates: Candidates,
                 limit: int):
        """``limit``: pairs held at once; at least a partition's rows, the most that one question can have."""
        self._splits = splits
        self._limit = max(limit, partitioning.rows)
        self._partitioning = partitioning
        self._candidates = candidates
        self._asked = np.zeros(partitioning.rows, bool)

    def parts(self, queries: Queries, k: int) -> Iterator[tuple[int, int, Known]]:
        """(first, last, known answers in partition k) for ranges of questions that cover all."""
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
        """Answers in partition k to the questions first to last - 1; None where they are too many to hold."""
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
        if not self._candidates.count(k):
            return
        first_ids = np.arange(self._partitioning.partitions + 1) * self._partitioning.rows
        bounds = [queries.first_about(side, first_ids).clip(first, last).tolist() for side in (0, 1)]
        for other in range(self._partitioning.partitions):
            spans = [(bounds[side][other], bounds[side][other + 1]) for side in (0, 1)]
            buckets = {(other, k): [0], (k, other): [1]} if other != k else {(k, k): [0, 1]}
            for (i, j), sides in buckets.items():
                wanted = [side for side in sides if spans[side][0] < spans[side][1]]
                for split in self._splits if wanted else ():
                    for src, dst, rel in split.stream(i, j, CHUNK):
                        for side in wanted:
                            nodes, answers = (src, dst) if side == 0 else (dst, src)
                            yield self._match(queries, spans[side], other, k, nodes, rel, answers)

    def _match(self, queries: Queries, span: tuple[int, int], other: int, k: int,
               nodes: Offsets, rel: Offsets, answers: Offsets) -> tuple[Ids, Ids]:
        """(question, candidate position) of the edges that answer questions of ``span``."""
        codes = queries.codes[span[0]:span[1]]
        base = other * self._partitioning.rows
        asked = codes // queries.relations - base
        self._asked[asked] = True
        near = np.flatnonzero(self._asked[nodes])
        self._asked[asked] = False
        wanted = (nodes[near].astype(np.int64) + base) * queries.relations + rel[near]
        at = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
        positions = self._candidates.positions(k, answers[near].astype(np.int64))
        hit = (codes[at] == wanted) & (positions >= 0)
        return span[0] + at[hit], positions[hit]
