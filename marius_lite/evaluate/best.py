"""The k best candidates of each query, kept while candidates stream past."""

from __future__ import annotations

import torch


class BestAnswers:
    """``scores`` and ``nodes`` (n, k), best first, equal scores by ascending node id.

    Where there are fewer than k, -inf and -1 follow. Candidates must come in ascending order of their ids:
    then the result does not depend on how they are cut.
    """

    def __init__(self, queries: int, k: int, device: torch.device):
        self.scores = torch.full((queries, k), -torch.inf, device=device)
        self.nodes = torch.full((queries, k), -1, dtype=torch.int64, device=device)

    def add(self, start: int, stop: int, scores: torch.Tensor, nodes: torch.Tensor,
            left_out: tuple[torch.Tensor, torch.Tensor]) -> None:
        """Take ``scores`` (stop - start, m) of queries [start, stop) for ``nodes`` (m,); they are changed."""
        scores[left_out] = -torch.inf
        best, ids = self.scores[start:stop], self.nodes[start:stop]
        better = int((scores > best[:, -1:]).sum(1).max())
        if better == 0:
            return
        if better <= best.shape[1]:
            # No row has more winners than places, so ties at the cut cannot matter.
            places = scores.topk(better, dim=1).indices.sort(dim=1).values
        else:
            places = torch.arange(len(nodes), device=scores.device).expand(len(scores), -1)
        merged = torch.cat([best, scores.gather(1, places)], dim=1)
        order = merged.sort(dim=1, descending=True, stable=True).indices[:, :best.shape[1]]
        self.nodes[start:stop] = torch.cat([ids, nodes[places]], dim=1).gather(1, order)
        self.scores[start:stop] = merged.gather(1, order)
