"""Rank true edges among all nodes, exactly and filtered, in bounded memory.

Edges come in blocks that fit the memory. For each block:

1. Partitions pass through the buffer, and the rows of the block's nodes are gathered.
2. The queries of both sides are made, and their positives scored.
3. Partitions pass again. Known true answers are read from the edge buckets. The partition's candidates are scored in tiles, and
   those above and equal to each positive are counted.

Where everything is resident the same code runs, and nothing is read. Only the counts are kept after a block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.evaluate.candidates import Candidates
from marius_lite.evaluate.counting import Counts, Selves
from marius_lite.evaluate.edges import EdgeBlock, kept_where_few
from marius_lite.evaluate.known import KnownAnswers
from marius_lite.evaluate.masks import Masks
from marius_lite.evaluate.pages import Buffer, Pages
from marius_lite.evaluate.queries import Queries
from marius_lite.evaluate.result import TIES, ByDegree, Flags, Ranks, SelfBest, Ties, Totals
from marius_lite.evaluate.scorer import Scorer, Tiles, check_numbers, queries_at_once, query_vectors
from marius_lite.graph.edge_source import EdgeSource
from marius_lite.graph.edges import EDGES_AT_ONCE
from marius_lite.graph.partitioning import Partitioning

BYTES_PER_KNOWN = 64
BYTES_PER_CHUNK_EDGE = 64
BYTES_PER_QUERY = 160
BYTES_PER_SCORE = 12
KEPT_SHARE = 8
"""Edges that filter are kept in memory where they take at most one part of so many of it, and half of what blocks would have."""

Degrees = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]
QueryNode = Literal["candidate", "left_out"]


class Ranked(NamedTuple):
    """The ranks of edges' destinations (row 0) and sources (row 1), (2, n) each.

    ``ranks``: with the query node among the candidates. ``without_self``: with it left out. ``self_best``: whether the query node
    was the best answer of all.
    """

    ranks: Ranks
    without_self: Ranks
    self_best: Flags


@dataclass(frozen=True)
class RankingOptions:
    """The options of a ranking.

    ``candidates``: how many nodes to draw, None for all. ``memory``: bytes beside the buffer. ``query_node``: whether the query
    node is a ``candidate`` for its own question, as in published figures, or is ``left_out``. ``compared``: whether the result
    also has the figures of the other kind. ``split``: what the edges are called in the result. ``degrees``: gives the degrees of
    nodes (n,), where figures by the degree of the answer are asked for.
    """

    candidates: int | None = None
    filtered: bool = True
    ties: Ties = "realistic"
    seed: int = 0
    memory: int = 1 << 30
    query_node: QueryNode = "candidate"
    compared: bool = False
    split: str = "test"
    degrees: Degrees | None = None

    @property
    def watches_selves(self) -> bool:
        """Whether the scores of the query nodes are needed."""
        return self.compared or self.query_node == "left_out"


class Ranker:
    """Ranks blocks of edges against the table in ``buffer``, which has ``dim`` values a node.

    ``known``: the splits whose edges filter the candidates.
    """

    def __init__(
        self,
        buffer: Buffer,
        partitioning: Partitioning,
        dim: int,
        scorer: Scorer,
        known: Sequence[EdgeSource],
        options: RankingOptions,
    ):
        self._pages = Pages(buffer, partitioning, dim)
        self._partitioning = partitioning
        self._scorer = scorer
        self._options = options
        self._tiles = Tiles(scorer, dim)
        self._shape = self._tiles.shape
        self._candidates = Candidates(partitioning, options.candidates, options.seed)
        budget = min(options.memory // KEPT_SHARE, self._room // 2)
        splits, self._kept = kept_where_few(known if options.filtered else (), budget)
        self._known = KnownAnswers(splits, partitioning, self._candidates, options.memory // 4 // BYTES_PER_KNOWN)

    @property
    def label(self) -> str:
        """Who the candidates are: ``all``, or ``sampled(k)``."""
        return self._candidates.label

    @property
    def block_size(self) -> int:
        """How many edges a block has. Their rows and queries fit the memory beside the tiles and the edges being read."""
        each = 4 * self._pages.dim * 4 + 2 * BYTES_PER_QUERY
        return max(self._shape.queries, (self._room - self._kept) // each)

    @property
    def _room(self) -> int:
        """The bytes for a block, and for edges that are kept. A GPU has the tiles in its own memory."""
        queries, together = self._shape.queries, self._shape.together
        tiles = queries * together * BYTES_PER_SCORE + (queries + together) * self._pages.dim * 4
        reading = EDGES_AT_ONCE * BYTES_PER_CHUNK_EDGE + self._partitioning.rows
        making = 3 * queries_at_once(self._pages.dim) * self._pages.dim * 4
        on_host = self._scorer.relations.device.type == "cpu"
        return self._options.memory * 3 // 4 - (tiles if on_host else 0) - reading - making

    def ranks(self, edges: EdgeBlock) -> Ranks:
        """Return the ranks (2, n) of the edges' destinations (row 0) and sources (row 1), as the options say.

        Raises RunError where a score is NaN.
        """
        ranked = self.ranked(edges)
        return ranked.without_self if self._options.query_node == "left_out" else ranked.ranks

    @torch.no_grad()
    def ranked(self, edges: EdgeBlock) -> Ranked:
        """Return the ranks with and without the query node. They are the same where the options do not need both."""
        queries = Queries.of_edges(edges, self._scorer.relation_count)
        vectors, positives = self._vectors(queries)
        counts, selves = Counts(queries, positives), Selves(positives)
        # Backwards: the partition where the gathering ended is still resident.
        holding = [k for k in reversed(range(self._partitioning.partitions)) if self._candidates.count(k)]
        for k, values in self._pages.each(holding):
            for first, last, known in self._known.parts(queries, k):
                masks = Masks(queries, self._candidates, k, known, self._shape.together, vectors.device)
                begin, end = int(queries.starts[first]), int(queries.starts[last])
                for low, high in self._candidates.tiles(k, self._shape.together):
                    self._tiles.load(values[self._candidates.offsets(k, low, high)])
                    for start, stop, scores in self._tiles.scores(vectors, queries.rel, begin, end):
                        left_out = masks.tile(start, stop, low, high)
                        counts.add(start, stop, scores, left_out)
                        if self._options.watches_selves:
                            selves.add(start, stop, scores, left_out, masks.selves(start, stop, low, high))
        ranks = self._ranks(counts.above, counts.not_below)
        without = self._ranks(counts.above - selves.above.long(), counts.not_below - selves.not_below.long())
        return Ranked(*(_as_asked(each, queries) for each in (ranks, without, selves.best.cpu().numpy())))

    def _ranks(self, above: torch.Tensor, not_below: torch.Tensor) -> Ranks:
        counted = above.cpu().numpy().astype(np.float64)
        return TIES[self._options.ties](counted, not_below.cpu().numpy() - counted)

    def _vectors(self, queries: Queries) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the query vectors (n, dim) and the scores of the positives (n,)."""
        nodes, place = np.unique(np.concatenate([queries.node, queries.answer]), return_inverse=True)
        rows, answers = self._pages.gather(nodes), place[len(queries) :]
        vectors = query_vectors(self._scorer, rows, place[: len(queries)], queries.rel, queries.side)
        positives = torch.empty(len(queries), device=vectors.device)
        for begin in range(0, len(queries), self._shape.queries):
            end = min(begin + self._shape.queries, len(queries))
            self._tiles.load(rows[answers[begin:end]])
            for start, stop, scores in self._tiles.unchecked(vectors, begin, end):
                positives[start:stop] = scores.diagonal()
        check_numbers(positives, queries.rel)
        return vectors, positives


def _as_asked(values: npt.NDArray[Any], queries: Queries) -> npt.NDArray[Any]:
    """Return values of queries (2n,) in the order of their edges: (2, n)."""
    placed = np.empty_like(values)
    placed[queries.place] = values
    return placed.reshape(2, -1)


def rank(
    buffer: Buffer,
    partitioning: Partitioning,
    dim: int,
    scorer: Scorer,
    edges: Iterable[EdgeBlock],
    known: Sequence[EdgeSource],
    options: RankingOptions,
    relation_names: Sequence[Any] | None = None,
) -> dict[str, Any]:
    """Evaluate link prediction. The result is ready for JSON, with figures by relation: by name, or by id without names.

    ``edges`` may come in blocks of any size. ``known``: the edges of all splits. Where the query nodes' scores are needed, the
    result has ``query_node``, as in the options, and ``self_best``, the share of queries whose best answer would be their own
    node. Where both kinds of figures are ``compared``, the others are in ``without_self`` or ``with_self``. Raises RunError where
    a score is NaN.
    """
    ranker = Ranker(buffer, partitioning, dim, scorer, known, options)
    totals, others = Totals(scorer.relation_count), Totals(scorer.relation_count)  # so equal ranks give equal figures
    self_best, by_degree = SelfBest(), ByDegree()
    for block in edges:
        for part in block.split(ranker.block_size):
            ranked = ranker.ranked(part)
            self_best.add(ranked.self_best)
            kinds = ranked.ranks, ranked.without_self
            for total, ranks in zip((totals, others), kinds[::-1] if options.query_node == "left_out" else kinds):
                for side in range(len(ranks)):
                    total.add(side, part.rel, ranks[side])
            if options.degrees:
                asked = ranked.without_self if options.query_node == "left_out" else ranked.ranks
                for side, answers in enumerate((part.dst, part.src)):
                    by_degree.add(side, options.degrees(answers), asked[side])
    summary = totals.summary(relation_names)
    per = {name: summary.pop(name) for name in ("per_side", "per_relation")}
    if options.degrees:
        per["per_degree"] = by_degree.summary()
    return {
        "split": options.split,
        **summary,
        "candidates": ranker.label,
        "filtered": options.filtered,
        "ties": options.ties,
        **_about_selves(options, self_best, others),
        **per,
    }


def _about_selves(options: RankingOptions, self_best: SelfBest, others: Totals) -> dict[str, Any]:
    if not options.watches_selves:
        return {}
    other = "with_self" if options.query_node == "left_out" else "without_self"
    return {
        "query_node": options.query_node,
        "self_best": self_best.share(),
        **({other: others.overall()} if options.compared else {}),
    }
