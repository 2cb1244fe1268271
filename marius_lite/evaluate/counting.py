"""Count the candidates of one partition that beat, or tie with, the true answers; and compare the query nodes themselves."""

from __future__ import annotations

import torch

from marius_lite.evaluate.queries import Queries

Cells = tuple[torch.Tensor, torch.Tensor]
"""(query, candidate) of some scores of a tile."""


class Counts:
    """Candidates above each query's positive score (``positives``, (n,)), and not below it."""

    def __init__(self, queries: Queries, positives: torch.Tensor):
        self.queries = queries
        self.positives = positives[:, None]
        self.above = torch.zeros(len(queries), dtype=torch.int64, device=positives.device)
        self.not_below = torch.zeros_like(self.above)

    def add(self, start: int, stop: int, scores: torch.Tensor, left_out: Cells) -> None:
        """Count ``scores`` (stop - start, m) of queries [start, stop), which are changed."""
        scores[left_out] = torch.nan  # not above, not below, not equal
        self.above[start:stop] += (scores > self.positives[start:stop]).sum(1)
        self.not_below[start:stop] += (scores >= self.positives[start:stop]).sum(1)


class Selves:
    """The score of each query's own node, NaN where that is no candidate or left out, and the best of all other candidates'."""

    def __init__(self, positives: torch.Tensor):
        self._positives = positives
        self._own = torch.full_like(positives, torch.nan)
        self._others = positives.clone()

    def add(self, start: int, stop: int, scores: torch.Tensor, left_out: Cells, selves: Cells) -> None:
        """Take the scores that `Counts.add` has counted; they are changed."""
        rows, _ = selves
        self._own[start + rows] = scores[selves]
        scores[left_out] = scores[selves] = -torch.inf
        self._others[start:stop] = torch.maximum(self._others[start:stop], scores.amax(1))

    @property
    def above(self) -> torch.Tensor:
        """Whether the query node beats the positive."""
        return self._own > self._positives

    @property
    def not_below(self) -> torch.Tensor:
        return self._own >= self._positives

    @property
    def best(self) -> torch.Tensor:
        """Whether the query node beats the positive and every other candidate."""
        return self._own > self._others
