"""Score queries against their positives and shared negatives, and compute the gradients of a loss."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import torch
from torch import Tensor

from marius_lite.config.memory import CPU_TILE, DEVICE_TILE, TILE_QUERIES
from marius_lite.nn import shared_loss
from marius_lite.nn.losses import Loss, SideGrads
from marius_lite.nn.similarities import Similarity
from marius_lite.nn.workspace import Workspace
from marius_lite.types import Correction, Pairs

TILE_COLUMNS = 1 << 13
"""Candidates in a tile of `scores`: enough for a fast product, however many candidates there are."""


class SideScoring:
    """Compares queries with their positives and with negatives that they share, and computes the gradients of a loss.

    ``way``: how inner products and their loss are computed on a CPU, one of `nn.shared_loss.usable_ways`, or torch. All else is
    computed by torch, in tiles of scores. What that needs is in ``workspace``, and no larger than one tile.
    """

    def __init__(self, similarity: Similarity, loss: Loss, workspace: Workspace, way: str = "torch"):
        self._similarity, self._loss, self._workspace, self._way = similarity, loss, workspace, way
        self._native = shared_loss.suits(way, similarity, loss)

    def __call__(
        self,
        query: Tensor,
        positive: Tensor,
        negatives: Tensor,
        left_out: Pairs | None = None,
        correction: Correction | None = None,
    ) -> SideGrads:
        """Compare each query (n, dim) with its positive (n, dim) and its chunk's negatives (chunks, k, dim).

        Edges are split into the chunks in order, ceil(n / chunks) to each. Pairs that are ``left_out`` score -inf, so that they
        add nothing to loss and gradients. The ``correction`` is subtracted from the scores. The gradients are new tensors.
        """
        if self._native and not query.is_cuda:
            return shared_loss.score_side(self._way, self._loss, query, positive, negatives, left_out, correction)
        return score_in_tiles(self._similarity, self._loss, query, positive, negatives, self._workspace, left_out, correction)


def score_in_tiles(
    similarity: Similarity,
    loss: Loss,
    query: Tensor,
    positive: Tensor,
    negatives: Tensor,
    workspace: Workspace,
    left_out: Pairs | None = None,
    correction: Correction | None = None,
) -> SideGrads:
    """Do what `SideScoring` does, for every similarity, loss and device. One tile of scores is in memory at a time."""
    chunks, count, dim = negatives.shape
    hidden = _Hidden(left_out, query.device) if left_out else None
    taken = [torch.from_numpy(each).to(query.device) for each in astuple(correction)] if correction else None
    # Row 0 stays zero: its column of a tile takes the score of each query's own positive.
    candidates = workspace.tensor("candidates", (1 + count, dim), query.device)
    candidates[0] = 0
    d_candidates = query.new_zeros((chunks, 1 + count, dim))
    grads = SideGrads(
        query.new_zeros((), dtype=torch.float64), torch.empty_like(query), torch.empty_like(positive), d_candidates[:, 1:]
    )
    size = -(-len(query) // chunks)
    rows = tile_rows(similarity, 1 + count, dim, query.device)
    for chunk in range(chunks):
        candidates[1:] = negatives[chunk]
        end = min((chunk + 1) * size, len(query))
        for start in range(chunk * size, end, rows):
            part = slice(start, min(start + rows, end))
            scores = similarity.tile(query[part], candidates, workspace)
            scores[:, 0] = similarity.pairs(query[part], positive[part])
            if taken:
                scores[:, 0] -= taken[0][part]
                scores[:, 1:] -= taken[1][chunk]
            if hidden:
                hidden.hide(scores[:, 1:], part)
            grads.loss.add_(loss(scores, workspace))
            d_pairs = scores[:, 0].clone()
            scores[:, 0] = 0
            similarity.tile_backward(query[part], candidates, scores, grads.query[part], d_candidates[chunk], workspace)
            similarity.pairs_backward(query[part], positive[part], d_pairs, grads.query[part], grads.positive[part])
    return grads


class _Hidden:
    """Sets the scores of pairs that are left out to -inf. Every loss gives -inf a gradient of 0."""

    def __init__(self, pairs: Pairs, device: torch.device):
        self._edges = pairs.edges
        self._places = torch.from_numpy(np.stack([pairs.edges, pairs.columns])).to(device, non_blocking=True)

    def hide(self, scores: Tensor, queries: slice) -> None:
        """Overwrite the scores of the pairs in a tile (stop - start, k), which has the queries start:stop."""
        first, last = np.searchsorted(self._edges, (queries.start, queries.stop)).tolist()
        rows, columns = self._places[:, first:last]
        scores[rows - queries.start, columns] = -torch.inf


def scores(similarity: Similarity, query: Tensor, candidates: Tensor, workspace: Workspace) -> Tensor:
    """Return the scores (n, m) of queries (n, dim) with candidates (m, dim), for a ranking: a new tensor."""
    out = query.new_empty((len(query), len(candidates)))
    rows = tile_rows(similarity, min(len(candidates), TILE_COLUMNS), query.shape[1], query.device)
    for left in range(0, len(candidates), TILE_COLUMNS):
        some = candidates[left : left + TILE_COLUMNS]
        for top in range(0, len(query), rows):
            tile = similarity.tile(query[top : top + rows], some, workspace)
            out[top : top + rows, left : left + TILE_COLUMNS] = tile
    return out


def tile_rows(similarity: Similarity, candidates: int, dim: int, device: torch.device) -> int:
    """Return how many queries a tile has: at least 1, and enough for a fast product where scores are products."""
    budget = DEVICE_TILE if device.type == "cuda" else CPU_TILE
    numbers = similarity.numbers_per_score(dim)
    return max(TILE_QUERIES if numbers == 1 else 1, budget // (max(1, candidates) * numbers))
