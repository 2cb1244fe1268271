"""What evaluation needs of a trained model, and scores that depend on nothing but the two rows compared."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch

QUERIES, CANDIDATES = 256, 1024
"""Shape of every score tile."""


class Scorer(Protocol):
    """The part of `marius_lite.nn.model.LinkPredictionModel` used here; ``relations`` stand on its device."""

    @property
    def relation_count(self) -> int: ...

    @property
    def relations(self) -> torch.Tensor: ...

    def query(self, entity: torch.Tensor, rel: torch.Tensor, side: int) -> torch.Tensor:
        """(n, dim) from known nodes (n, dim) and relation ids (n,); side 0 asks for destinations."""

    def scores(self, query: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
        """(n, m) from queries (n, dim) and candidates (m, dim): a new tensor."""


class Tiles:
    """Scores in tiles of one fixed shape, zero-padded.

    A matrix product may add in another order when its shape changes. With one shape, equal rows get equal
    scores bit for bit wherever they stand, however the table is partitioned, and a positive ties its twins.
    """

    def __init__(self, scorer: Scorer, dim: int):
        device = scorer.relations.device
        self._scorer = scorer
        self._queries = torch.zeros(QUERIES, dim, device=device)
        self._candidates = torch.zeros(CANDIDATES, dim, device=device)
        self._count = 0

    def load(self, rows: npt.NDArray[np.float32]) -> None:
        """Take up to CANDIDATES rows (m, dim) as the candidates of the next scores."""
        self._count = len(rows)
        self._candidates[:self._count].copy_(torch.from_numpy(rows))
        self._candidates[self._count:].zero_()

    def scores(self, queries: torch.Tensor) -> torch.Tensor:
        """Scores (n, m) of up to QUERIES queries (n, dim) with the loaded rows, which may be changed."""
        count = len(queries)
        if count < QUERIES:
            self._queries[:count].copy_(queries)
            self._queries[count:].zero_()
            queries = self._queries
        return self._scorer.scores(queries, self._candidates)[:count, :self._count]
