"""Score queries and candidates with a trained model. A score depends on the two compared rows alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, NoReturn, Protocol

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.errors import RunError
from marius_lite.evaluate.sending import sent
from marius_lite.types import Ids

MOST_MADE, MADE_BYTES = 4096, 2 << 20
"""Queries that are made at a time, at most, and the bytes of them: rows may have thousands of numbers."""


class TileShape(NamedTuple):
    """The shape of every tile. Tiles of ``together`` candidates are looked at together: what is done once a tile takes as long as
    its product.
    """

    queries: int
    candidates: int
    together: int

    @classmethod
    def on(cls, device: torch.device) -> TileShape:
        """Return the shape of all tiles on ``device``. A GPU multiplies a large tile while the host launches some calls."""
        return cls(2048, 4096, 4096) if device.type == "cuda" else cls(256, 1024, 4096)


class Scorer(Protocol):
    """The part of `marius_lite.nn.model.LinkPredictionModel` that an evaluation uses. ``relations`` are on its device."""

    @property
    def relation_count(self) -> int: ...

    @property
    def relations(self) -> torch.Tensor: ...

    def query(self, entity: torch.Tensor, rel: torch.Tensor, side: int) -> torch.Tensor:
        """Return queries (n, dim) from the rows of known nodes (n, dim) and relation ids (n,). Side 0 asks for destinations."""

    def scores(self, query: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
        """Return scores (n, m) of queries (n, dim) with candidates (m, dim): a new tensor."""


def queries_at_once(dim: int) -> int:
    """Return how many queries of ``dim`` numbers are made at a time."""
    return max(1, min(MOST_MADE, MADE_BYTES // (4 * dim)))


def query_vectors(scorer: Scorer, rows: npt.NDArray[np.float32], node: Ids, rel: Ids, side: Ids) -> torch.Tensor:
    """Return query vectors (n, dim). ``rows`` (m, dim): the values of nodes.

    For each query, (n,): ``node``, the place of its node in ``rows``; ``rel``; and ``side``, which ascends.
    """
    device = scorer.relations.device
    vectors = torch.empty(len(node), rows.shape[1], device=device)
    middle, at_once = int(np.searchsorted(side, 1)), queries_at_once(rows.shape[1])
    for at, (begin, end) in enumerate([(0, middle), (middle, len(node))]):
        for start in range(begin, end, at_once):
            part = slice(start, min(start + at_once, end))
            entity, relation = (sent(each, device) for each in (rows[node[part]], rel[part]))
            vectors[part] = scorer.query(entity, relation, at)
    return vectors


def check_numbers(scores: torch.Tensor, rel: Ids) -> None:
    """Raise RunError where a score (n, ...) of queries with relations ``rel`` (n,) is NaN."""
    # A sum needs one pass and no temporary, and NaN makes it NaN. So do infinities; then every score is looked at.
    if not torch.isfinite(scores.sum()) and bool(torch.isnan(scores).any()):
        _refuse(torch.isnan(scores.reshape(len(scores), -1)).any(1), rel)


def _refuse(bad: torch.Tensor, rel: Ids) -> NoReturn:
    """Raise RunError for queries that have a score that is NaN, where ``bad`` (n,)."""
    raise RunError(
        f"a score of relation {rel[int(bad.nonzero()[0])]} is not a number (NaN): the model has diverged; train "
        "again with a smaller optimizer.rows.lr, or evaluate an earlier checkpoint"
    )


class Tiles:
    """Scores in tiles of one fixed shape, padded with zeros.

    A matrix product may add in another order when its shape changes. With one shape, equal rows get the same bits, wherever they
    are and however the table is partitioned. So a positive ties with candidates that are equal to it.
    """

    def __init__(self, scorer: Scorer, dim: int):
        device = scorer.relations.device
        self.shape = TileShape.on(device)
        self._scorer = scorer
        self._queries = torch.zeros(self.shape.queries, dim, device=device)
        self._candidates = [torch.zeros(self.shape.candidates, dim, device=device)]
        self._count = 0

    def load(self, rows: npt.NDArray[np.float32]) -> None:
        """Set the candidates of the next scores: rows (m, dim)."""
        self._count, size = len(rows), self.shape.candidates
        for place, low in enumerate(range(0, max(1, len(rows)), size)):
            part = rows[low : low + size]
            if place == len(self._candidates):
                self._candidates.append(torch.empty_like(self._candidates[0]))
            self._candidates[place][: len(part)].copy_(sent(part, self._queries.device))
            self._candidates[place][len(part) :].zero_()

    def unchecked(self, vectors: torch.Tensor, begin: int, end: int) -> Iterator[tuple[int, int, torch.Tensor]]:
        """Yield (start, stop, scores (stop - start, m)) of queries [begin, end), those of a tile at a time.

        ``vectors`` (n, dim) are those of all queries. The scores may be overwritten. They may be NaN.
        """
        size, filled = self.shape.queries, max(1, -(-self._count // self.shape.candidates))
        for start in range(begin, end, size):
            stop = min(start + size, end)
            queries = vectors[start:stop]
            if stop - start < size:
                self._queries[: stop - start].copy_(queries)
                self._queries[stop - start :].zero_()
                queries = self._queries
            tiles = [self._scorer.scores(queries, each) for each in self._candidates[:filled]]
            yield start, stop, (tiles[0] if len(tiles) == 1 else torch.cat(tiles, 1))[: stop - start, : self._count]

    def scores(self, vectors: torch.Tensor, rel: Ids, begin: int, end: int) -> Iterator[tuple[int, int, torch.Tensor]]:
        """Yield what `unchecked` yields. ``rel`` (n,): the relations of all queries.

        Raises RunError where a score is NaN: on a GPU after the last tile, because to look at each would be to wait for each.
        """
        bad = None if vectors.device.type == "cpu" else torch.zeros(end - begin, dtype=torch.bool, device=vectors.device)
        for start, stop, scores in self.unchecked(vectors, begin, end):
            if bad is None:
                check_numbers(scores, rel[start:stop])
            else:
                bad[start - begin : stop - begin] = torch.isnan(scores).any(1)
            yield start, stop, scores
        if bad is not None and bool(bad.any()):
            _refuse(bad, rel[begin:end])
