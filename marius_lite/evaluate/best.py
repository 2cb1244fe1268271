"""Keep the k best candidates of each query while all candidates pass."""

from __future__ import annotations

import torch


class BestAnswers:
    """The best candidates so far: ``scores`` and ``nodes`` (n, k), best first, equal scores by ascending node id.

    Where there are fewer than k, the rest is -inf and -1. Candidates must come in ascending order of their ids. Then the result
    does not depend on how they are split into tiles.
    """

    def __init__(self, queries: int, k: int, device: torch.device):
        self.scores = torch.full((queries, k), -torch.inf, device=device)
        self.nodes = torch.full((queries, k), -1, dtype=torch.int64, device=device)
        self.worst = self.scores.new_full((), -torch.inf)  # where the scores are: a number of Python would be waited for

    def add(
        self, start: int, stop: int, scores: torch.Tensor, nodes: torch.Tensor, left_out: tuple[torch.Tensor, torch.Tensor]
    ) -> None:
        """Add ``scores`` (stop - start, m) of queries [start, stop) for ``nodes`` (m,). The scores are overwritten.

        ``left_out``: (rows, columns) of the scores that do not count. On a GPU nothing is waited for.
        """
        scores.index_put_(left_out, self.worst)
        best, ids = self.scores[start:stop], self.nodes[start:stop]
        places = _places_that_matter(scores, best)
        if places.shape[1] == 0:
            return
        merged = torch.cat([best, scores.gather(1, places)], dim=1)
        order = merged.sort(dim=1, descending=True, stable=True).indices[:, : best.shape[1]]
        self.nodes[start:stop] = torch.cat([ids, nodes[places]], dim=1).gather(1, order)
        self.scores[start:stop] = merged.gather(1, order)


def _places_that_matter(scores: torch.Tensor, best: torch.Tensor) -> torch.Tensor:
    """Return places (n, any) of ``scores`` (n, m): those of all that belong among the ``best`` (n, k), whose last is the worst.

    Of equal scores the first come first. How many are better decides what a CPU does. A GPU would have to be waited for.
    """
    k = best.shape[1]
    better = k + 1 if scores.is_cuda else int((scores > best[:, -1:]).sum(1).max())
    if better <= k:
        # No row has more new candidates than places, so all that beat the last one are taken, and ties cannot matter.
        return scores.topk(better, dim=1).indices.sort(dim=1).values
    return _best_places(scores, min(k, scores.shape[1]))


def _best_places(scores: torch.Tensor, k: int) -> torch.Tensor:
    """Return the places (n, k) of the best of ``scores`` (n, m), without NaN: best first, equal scores in order of their places.

    `torch.topk` takes any of equal scores. So it is asked for whole numbers, all different, in the order of the scores and, where
    these are equal, of their places. That takes a fifth of the time of sorting.
    """
    bits = (scores + 0.0).view(torch.int32)  # -0.0 becomes 0.0, which is equal to it
    keys = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(torch.int64)
    keys.bitwise_left_shift_(32).sub_(torch.arange(scores.shape[1], device=scores.device))
    return keys.topk(k, dim=1).indices
