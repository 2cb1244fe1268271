"""How many candidates of one partition beat, or tie with, the true answers."""

from __future__ import annotations

import torch

from marius_lite.evaluate.queries import Queries


class Counts:
    """Candidates above each query's positive score (``positives``, (n,)), and not below it."""

    def __init__(self, queries: Queries, positives: torch.Tensor):
        self.queries = queries
        self.positives = positives[:, None]
        self.above = torch.zeros(len(queries), dtype=torch.int64, device=positives.device)
        self.not_below = torch.zeros_like(self.above)

    def add(self, start: int, stop: int, scores: torch.Tensor,
            left_out: tuple[torch.Tensor, torch.Tensor]) -> None:
        """Count ``scores`` (stop - start, m) of queries [start, stop), which are changed."""
        scores[left_out] = torch.nan  # not above, not below, not equal
        self.above[start:stop] += (scores > self.positives[start:stop]).sum(1)
        self.not_below[start:stop] += (scores >= self.positives[start:stop]).sum(1)
