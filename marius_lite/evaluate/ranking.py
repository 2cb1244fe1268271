"""Ranks of true edges among all nodes, exact and filtered, in bounded memory.

Edges come in blocks that fit the memory. For each block:

1. Partitions pass through the buffer; the rows of the block's nodes are gathered.
2. Both sides' queries are made, and their positives scored.
3. Partitions pass again: known true answers are read from the edge buckets, the partition's candidates are
   scored in tiles, and those above and equal to each positive are counted.

With everything resident nothing is read, and the same code runs. Only the counts outlive a block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.evaluate.candidates import Candidates
from marius_lite.evaluate.counting import Counts, check_numbers
from marius_lite.evaluate.edges import CHUNK, EdgeBlock, EdgeSource
from marius_lite.evaluate.known import Known, KnownAnswers
from marius_lite.evaluate.queries import Queries
from marius_lite.evaluate.result import TIES, Ranks, Ties, Totals
from marius_lite.evaluate.scorer import CANDIDATES, QUERIES, Scorer, Tiles
from marius_lite.graph.partitioning import Partitioning

QUERY_BATCH = 4096
BYTES_PER_KNOWN = 64
BYTES_PER_CHUNK_EDGE = 64
BYTES_PER_QUERY = 160
BYTES_PER_SCORE = 24
NO_KNOWN = Known(np.empty(0, np.int64), np.empty(0, np.int64))


class Buffer(Protocol):
    """What evaluation needs of `marius_lite.storage.buffer.PartitionBuffer`."""

    @property
    def slots(self) -> int: ...

    @property
    def rows(self) -> npt.NDArray[np.float32]: ...

    def enter(self, now: Sequence[int], next: Sequence[int] = ()) -> None: ...

    def base_row(self, partition: int) -> int: ...


@dataclass(frozen=True)
class RankingOptions:
    """``candidates``: None for all nodes, else how many to draw; ``memory``: bytes besides the buffer's."""

    candidates: int | None = None
    filtered: bool = True
    ties: Ties = "realistic"
    seed: int = 0
    memory: int = 1 << 30


class Ranker:
    """Ranks blocks of edges against the table in ``buffer``, ``dim`` values a node.

    ``known`` are the splits whose edges filter the candidates.
    """

    def __init__(self, buffer: Buffer, partitioning: Partitioning, dim: int, scorer: Scorer,
                 known: Sequence[EdgeSource], options: RankingOptions):
        self._buffer = buffer
        self._partitioning = partitioning
        self._dim = dim
        self._scorer = scorer
        self._options = options
        self._tiles = Tiles(scorer, dim)
        self._candidates = Candidates(partitioning, options.candidates, options.seed)
        self._known = KnownAnswers(known if options.filtered else (), partitioning, self._candidates)
        # One question has at most as many answers as the partition has rows: that must fit.
        self._known_limit = max(options.memory // 4 // BYTES_PER_KNOWN, partitioning.rows)

    @property
    def label(self) -> str:
        """``all``, or ``sampled(k)``: who the candidates are."""
        return self._candidates.label

    @property
    def block_size(self) -> int:
        """Edges of a block whose rows and queries fit the memory beside tiles and edges being read."""
        tiles = QUERIES * CANDIDATES * BYTES_PER_SCORE + (QUERIES + CANDIDATES) * self._dim * 4
        reading = CHUNK * BYTES_PER_CHUNK_EDGE + 3 * QUERY_BATCH * self._dim * 4 + self._partitioning.rows
        each = 4 * self._dim * 4 + 2 * BYTES_PER_QUERY
        return max(QUERIES, (self._options.memory * 3 // 4 - tiles - reading) // each)

    @torch.no_grad()
    def ranks(self, edges: EdgeBlock) -> Ranks:
        """Ranks (2, n) of the edges' destinations (row 0) and sources (row 1). Raises RunError on NaN."""
        queries = Queries(edges, self._scorer.relation_count)
        counts = Counts(queries, *self._vectors(queries))
        # Backwards: the partition that the gathering ended with is still there.
        holding = [k for k in reversed(range(self._partitioning.partitions)) if self._candidates.count(k)]
        for k in self._resident(holding):
            self._count(counts, k, 0, queries.sides[2])
        above = counts.above.cpu().numpy().astype(np.float64)
        equal = counts.not_below.cpu().numpy() - above
        ranks = np.empty((2, len(edges.src)))
        ranks[queries.side, queries.edge] = TIES[self._options.ties](above, equal)
        return ranks

    def _vectors(self, queries: Queries) -> tuple[torch.Tensor, torch.Tensor]:
        """Query vectors (n, dim) and scores of the positives (n,)."""
        nodes, place = np.unique(np.concatenate([queries.node, queries.answer]), return_inverse=True)
        node_place, answer_place = place[:len(queries)], place[len(queries):]
        rows = self._gather(nodes)
        device = self._scorer.relations.device
        vectors = torch.empty(len(queries), self._dim, device=device)
        middle = len(queries) // 2
        for side, (begin, end) in enumerate([(0, middle), (middle, len(queries))]):
            for start in range(begin, end, QUERY_BATCH):
                part = slice(start, min(start + QUERY_BATCH, end))
                entity, rel = (torch.from_numpy(values).to(device)
                               for values in (rows[node_place[part]], queries.rel[part]))
                vectors[part] = self._scorer.query(entity, rel, side)
        positives = torch.empty(len(queries), device=device)
        for start in range(0, len(queries), QUERIES):
            part = slice(start, min(start + QUERIES, len(queries)))
            self._tiles.load(rows[answer_place[part]])
            positives[part] = self._tiles.scores(vectors[part]).diagonal()
            check_numbers(positives[part], queries.rel[part])
        return vectors, positives

    def _gather(self, nodes: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Values (n, dim) of ascending node ids."""
        rows = np.empty((len(nodes), self._dim), np.float32)
        first_ids = np.arange(self._partitioning.partitions + 1) * self._partitioning.rows
        bounds = np.searchsorted(nodes, first_ids)
        for k in self._resident(np.flatnonzero(np.diff(bounds)).tolist()):
            part = slice(bounds[k], bounds[k + 1])
            rows[part] = self._partition(k)[nodes[part] - k * self._partitioning.rows]
        return rows

    def _count(self, counts: Counts, k: int, first: int, last: int) -> None:
        """Count partition k for a range of questions, in halves where the known answers are too many."""
        known = self._known.find(counts.queries, k, first, last, self._known_limit)
        if known is None:
            middle = (first + last) // 2
            self._count(counts, k, first, middle)
            self._count(counts, k, middle, last)
        else:
            counts.add(self._tiles, self._partition(k), self._candidates, k, known, first, last)

    def _partition(self, k: int) -> npt.NDArray[np.float32]:
        """Values (size, dim) of a resident partition: a view."""
        base = self._buffer.base_row(k)
        return self._buffer.rows[base:base + self._partitioning.size(k), :self._dim]

    def _resident(self, partitions: Sequence[int]) -> Iterator[int]:
        """Each partition while it is resident, the next one on its way; all at once where they fit."""
        if self._buffer.slots >= self._partitioning.partitions:
            self._buffer.enter(range(self._partitioning.partitions))
            yield from partitions
            return
        for at, k in enumerate(partitions):
            self._buffer.enter([k], partitions[at + 1:at + 2])
            yield k


def rank(buffer: Buffer, partitioning: Partitioning, dim: int, scorer: Scorer, edges: Iterable[EdgeBlock],
         known: Sequence[EdgeSource], options: RankingOptions, split: str = "test",
         relation_names: Sequence[Any] | None = None) -> dict[str, Any]:
    """Evaluate link prediction; the result is ready for JSON, per relation by name (by id without names).

    ``edges`` may come in blocks of any size, ``known`` are the edges of all splits. Raises RunError on NaN.
    """
    ranker = Ranker(buffer, partitioning, dim, scorer, known, options)
    totals = Totals(scorer.relation_count)
    for block in edges:
        for part in block.split(ranker.block_size):
            for side, ranks in enumerate(ranker.ranks(part)):
                totals.add(side, part.rel, ranks)
    summary = totals.summary(relation_names)
    per = {name: summary.pop(name) for name in ("per_side", "per_relation")}
    return {"split": split, **summary, "candidates": ranker.label, "filtered": options.filtered,
            "ties": options.ties, **per}
