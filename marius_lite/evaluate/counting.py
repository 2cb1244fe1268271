"""Count the candidates that beat, or tie with, the true answers; and compare the query nodes themselves."""

from __future__ import annotations

import torch

from marius_lite._native import count_answers
from marius_lite.evaluate.queries import Queries

Cells = tuple[torch.Tensor, torch.Tensor]
"""(rows, columns) of some scores of a tile."""


class Counts:
    """Counts the candidates that score ``above`` each query's positive (``positives``, (n,)), and those ``not_below`` it."""

    def __init__(self, queries: Queries, positives: torch.Tensor):
        self.queries = queries
        self.positives = positives[:, None]
        self.above = torch.zeros(len(queries), dtype=torch.int64, device=positives.device)
        self.not_below = torch.zeros_like(self.above)
        self._nan = positives.new_full((), torch.nan)

    def add(self, start: int, stop: int, scores: torch.Tensor, left_out: Cells) -> None:
        """Count ``scores`` (stop - start, m) of queries [start, stop). The scores are overwritten."""
        scores.index_put_(left_out, self._nan)  # which is neither above nor equal
        part = slice(start, stop)
        if scores.device.type == "cpu":  # one pass, where torch makes four and two arrays of truth values
            positives, above, not_below = self.positives[part, 0], self.above[part], self.not_below[part]
            count_answers(scores.numpy(), positives.numpy(), above.numpy(), not_below.numpy(), torch.get_num_threads())
        else:
            self.above[part] += (scores > self.positives[part]).sum(1)
            self.not_below[part] += (scores >= self.positives[part]).sum(1)


class Selves:
    """Keeps the score of each query's own node, and the best score of all other candidates.

    The score of the own node is NaN where it is no candidate, or is left out as a known answer.
    """

    def __init__(self, positives: torch.Tensor):
        self._positives = positives
        self._own = torch.full_like(positives, torch.nan)
        self._others = positives.clone()
        self._worst = positives.new_full((), -torch.inf)  # where the scores are: a number of Python would be waited for

    def add(self, start: int, stop: int, scores: torch.Tensor, left_out: Cells, selves: Cells) -> None:
        """Take the scores that `Counts.add` has counted. They are overwritten."""
        rows, _ = selves
        self._own[start + rows] = scores[selves]
        for cells in (left_out, selves):
            scores.index_put_(cells, self._worst)
        self._others[start:stop] = torch.maximum(self._others[start:stop], scores.amax(1))

    @property
    def above(self) -> torch.Tensor:
        """Whether the query node beats the positive."""
        return self._own > self._positives

    @property
    def not_below(self) -> torch.Tensor:
        """Whether the query node beats the positive or ties with it."""
        return self._own >= self._positives

    @property
    def best(self) -> torch.Tensor:
        """Whether the query node beats the positive and every other candidate."""
        return self._own > self._others
