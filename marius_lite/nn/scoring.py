"""Score queries against their positives and shared negatives, and compute the gradients of a loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass

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
    """Do what `SideScoring` does, for every similarity, loss and device. One tile of scores is in memory at a time.

    On a GPU a tile has as many chunks as it has room for, so that they take one product.
    """
    chunks, count, dim = negatives.shape
    edges, size = len(query), -(-len(query) // chunks)
    hidden = _Hidden(left_out, query.device) if left_out else None
    taken = [torch.from_numpy(each).to(query.device) for each in astuple(correction)] if correction else None
    own = _padded(similarity.pairs(query, positive), chunks * size)
    if taken:
        own[:edges] -= taken[0]
    asked = _padded(query, chunks * size).view(chunks, size, dim)
    d_asked, d_negatives = torch.empty_like(asked), torch.zeros_like(negatives)
    total = query.new_zeros((), dtype=torch.float64)
    for tile in _tiles(chunks, size, tile_rows(similarity, count, dim, query.is_cuda), together=query.is_cuda):
        scores = similarity.tile(asked[tile.chunks, tile.rows], negatives[tile.chunks], workspace)
        if taken:
            scores -= taken[1][tile.chunks, None]
        flat = scores.view(-1, count)
        if hidden:
            hidden.hide(flat, tile.edges)
        losses = loss(own[tile.edges], flat, workspace)
        real = max(0, edges - tile.edges.start)  # behind them are rows that only fill the last chunks
        total += losses[:real].sum(dtype=torch.float64)
        if real < len(flat):
            flat[real:] = 0
        similarity.tile_backward(
            asked[tile.chunks, tile.rows],
            negatives[tile.chunks],
            scores,
            d_asked[tile.chunks, tile.rows],
            d_negatives[tile.chunks],
            workspace,
        )
    d_query, d_positive = d_asked.view(-1, dim)[:edges], torch.empty_like(positive)
    similarity.pairs_backward(query, positive, own[:edges], d_query, d_positive)
    return SideGrads(total, d_query, d_positive, d_negatives)


@dataclass(frozen=True, slots=True)
class _Tile:
    """Whole chunks, or some rows of one chunk. ``edges``: their places, where every chunk has the same number of edges."""

    chunks: slice
    rows: slice
    edges: slice


def _tiles(chunks: int, size: int, rows: int, together: bool) -> Iterator[_Tile]:
    """Yield tiles of about ``rows`` of the rows of ``chunks`` chunks of ``size`` each, in order. ``together``: several chunks."""
    several = rows // size if together else 1
    if several > 1:
        for first in range(0, chunks, several):
            end = min(first + several, chunks)
            yield _Tile(slice(first, end), slice(0, size), slice(first * size, end * size))
        return
    for chunk in range(chunks):
        for start in range(0, size, rows):
            end = min(start + rows, size)
            yield _Tile(slice(chunk, chunk + 1), slice(start, end), slice(chunk * size + start, chunk * size + end))


def _padded(rows: Tensor, count: int) -> Tensor:
    """Return ``rows`` (n, ...) with rows of zeros behind them, ``count`` in all; the same tensor where it has as many."""
    if len(rows) == count:
        return rows
    out = rows.new_zeros((count, *rows.shape[1:]))
    out[: len(rows)] = rows
    return out


class _Hidden:
    """Sets the scores of pairs that are left out to -inf. Every loss gives -inf a gradient of 0."""

    def __init__(self, pairs: Pairs, device: torch.device):
        self._edges = pairs.edges
        self._places = torch.from_numpy(np.stack([pairs.edges, pairs.columns])).to(device, non_blocking=True)

    def hide(self, scores: Tensor, edges: slice) -> None:
        """Overwrite the scores of the pairs of a tile (stop - start, k), which has the edges start:stop."""
        first, last = np.searchsorted(self._edges, (edges.start, edges.stop)).tolist()
        rows, columns = self._places[:, first:last]
        scores[rows - edges.start, columns] = -torch.inf


def scores(similarity: Similarity, query: Tensor, candidates: Tensor, workspace: Workspace) -> Tensor:
    """Return the scores (n, m) of queries (n, dim) with candidates (m, dim), for a ranking: a new tensor."""
    out = query.new_empty((len(query), len(candidates)))
    rows = tile_rows(similarity, min(len(candidates), TILE_COLUMNS), query.shape[1], query.is_cuda)
    for left in range(0, len(candidates), TILE_COLUMNS):
        some = candidates[left : left + TILE_COLUMNS]
        for top in range(0, len(query), rows):
            tile = similarity.tile(query[None, top : top + rows], some[None], workspace)
            out[top : top + rows, left : left + TILE_COLUMNS] = tile[0]
    return out


def tile_rows(similarity: Similarity, candidates: int, dim: int, on_gpu: bool) -> int:
    """Return how many queries a tile has: at least 1, and enough for a fast product where scores are products."""
    budget = DEVICE_TILE if on_gpu else CPU_TILE
    numbers = similarity.numbers_per_score(dim)
    return max(TILE_QUERIES if numbers == 1 else 1, budget // (max(1, candidates) * numbers))
