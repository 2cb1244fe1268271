"""Compare queries with negatives that they share, and compute the gradients of a loss.

Where it can, native code does this, and stores no array of all scores: `csrc/score/shared_loss.h`. There are several ways, each
for other processors. A way gives the same bits wherever it can be used, for the same number of threads. So a run records which
one it takes. All else is computed by torch, a tile of scores at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from marius_lite._native import shared_loss, shared_loss_ways
from marius_lite.config.memory import CPU_TILE, DEVICE_TILE, TILE_QUERIES
from marius_lite.nn.losses import Loss
from marius_lite.nn.similarities import Inner, Similarity
from marius_lite.nn.workspace import Workspace
from marius_lite.types import (
    ANSWERS,
    CLASSES,
    LEFT_OUT,
    NEGATIVES,
    TAKEN,
    Correction,
    Pairs,
    comparison_arrays,
    one_after_another,
)

TILE_COLUMNS = 1 << 13
"""Candidates in a tile of `scores`: enough for a fast product, however many candidates there are."""
NO_PAIRS = Pairs(np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class Compared:
    """Edges that are compared with negatives of their own: of one side, or of both where both have the same negatives.

    ``query``, ``positive``: (n, dim). Pairs that are ``left_out`` score -inf, so that they add nothing to loss and gradients.
    The ``correction`` is subtracted from the scores. ``there``: gives `comparison_arrays` of these by name, where they have come
    to the device already.
    """

    query: Tensor
    positive: Tensor
    left_out: Pairs | None = None
    correction: Correction | None = None
    there: Callable[[str], Tensor] | None = None

    def tensor(self, name: str) -> Tensor:
        """Return one of `comparison_arrays`, as an array of one dimension."""
        if self.there:
            return self.there(name).view(-1)
        return torch.from_numpy(comparison_arrays(self.left_out, self.correction)[name]).to(self.query.device).view(-1)

    def pairs(self) -> Tensor:
        """Return the pairs that are left out: edges and columns, (2, pairs)."""
        return self.tensor(LEFT_OUT).view(2, -1) if self.left_out else torch.empty((2, 0), dtype=torch.int64)

    def parts(self) -> tuple[Any, ...] | None:
        """Return the correction as native code is given it."""
        given = self.correction
        if given is None:
            return None
        by_class = given.by_class and (self._array(CLASSES, given.by_class.classes), self._array(TAKEN, given.by_class.taken))
        negatives = None if given.negatives is None else self._array(NEGATIVES, given.negatives)
        return self._array(ANSWERS, given.answers), negatives, by_class

    def _array(self, name: str, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
        array: npt.NDArray[Any] = self.tensor(name).view(like.shape).numpy()
        return array


@dataclass(frozen=True)
class SideGrads:
    """The summed loss of a side, or of both (float64 scalar tensor), and its gradients.

    ``query`` and ``positive``: (n, dim); ``negatives``: (chunks, k, dim), each chunk contiguous.
    """

    loss: Tensor
    query: Tensor
    positive: Tensor
    negatives: Tensor

    @classmethod
    def of(cls, edges: int, negatives: Tensor) -> SideGrads:
        """Make room for the gradients of so many edges and of these negatives. The loss begins at 0."""
        query, positive = (negatives.new_empty(edges, negatives.shape[-1]) for _ in range(2))
        return cls(negatives.new_zeros((), dtype=torch.float64), query, positive, torch.empty_like(negatives))

    def part(self, number: int, parts: int) -> SideGrads:
        """Return one of equal parts. They have the loss in common."""
        return SideGrads(self.loss, *(each.chunk(parts)[number] for each in (self.query, self.positive, self.negatives)))


def usable_ways(rounds: bool, loss: Loss) -> list[str]:
    """Return the ways for a loss that this processor has, the one that is usually fastest first.

    ``rounds``: those that round to bfloat16, or those that do not.
    """
    if loss.native is None:
        return []
    return [name for name, rounded in shared_loss_ways() if rounded == rounds]


def suits(way: str, similarity: Similarity, loss: Loss) -> bool:
    """Return whether these can be computed in this way."""
    return isinstance(similarity, Inner) and any(way in usable_ways(rounds, loss) for rounds in (False, True))


class SideScoring:
    """Compares queries with their positives and with negatives that they share, and computes the gradients of a loss.

    ``way``: how inner products and their loss are computed on a CPU, one of `usable_ways`, or torch. All else is computed by
    torch, in tiles of scores. What that needs is in ``workspace``, and no larger than one tile.
    """

    def __init__(self, similarity: Similarity, loss: Loss, workspace: Workspace, way: str = "torch"):
        self._similarity, self._loss, self._workspace, self._way = similarity, loss, workspace, way
        self._native = loss.native if suits(way, similarity, loss) else None

    def __call__(self, sides: Sequence[Compared], negatives: Tensor) -> SideGrads:
        """Compare each query with its positive and its chunk's negatives. Returns new tensors: gradients of all sides, in order.

        ``sides``: of n edges each. ``negatives``: (chunks of all sides, k, dim). The edges of a side are split into its chunks
        in order, ceil(n / chunks) to each.
        """
        if self._native is None or negatives.is_cuda:
            return score_in_tiles(self._similarity, self._loss, sides, negatives, self._workspace)
        grads = SideGrads.of(sum(len(side.query) for side in sides), negatives)
        losses = torch.empty(len(grads.query))
        parts = zip(sides, negatives.chunk(len(sides)), losses.chunk(len(sides)), strict=True)
        given = [
            _native_side(side, against, lost, grads.part(number, len(sides)))
            for number, (side, against, lost) in enumerate(parts)
        ]
        shared_loss(self._way, *self._native, given, torch.get_num_threads())
        for lost in losses.chunk(len(sides)):
            grads.loss.add_(lost.sum(dtype=torch.float64))
        return grads


def _native_side(side: Compared, negatives: Tensor, losses: Tensor, out: SideGrads) -> tuple[Any, ...]:
    """Return a side as native code is given it. ``out`` takes gradients, ``losses`` those of its edges."""
    edges, columns = side.pairs().numpy()
    query, positive, against = (each.contiguous().numpy() for each in (side.query, side.positive, negatives))
    filled = (each.numpy() for each in (losses, out.query, out.positive, out.negatives))
    return query, positive, against, edges, columns, side.parts(), *filled


def score_in_tiles(
    similarity: Similarity, loss: Loss, sides: Sequence[Compared], negatives: Tensor, workspace: Workspace
) -> SideGrads:
    """Do what `SideScoring` does, for every similarity, loss and device.

    One tile of scores is in memory at a time.
    On a GPU a tile has as many chunks as it has room for, so that they take one product.
    """
    (chunks, count, dim), edges = negatives.shape, len(sides[0].query)
    per_side = chunks // len(sides)
    size = -(-edges // per_side)
    query, positive = joined([side.query for side in sides]), joined([side.positive for side in sides])
    taken = _Taken(sides, chunks, size, count)
    hidden = _Hidden(sides, per_side * size) if any(side.left_out for side in sides) else None
    own = similarity.pairs(query, positive)
    taken.from_answers(own)
    own = _padded(own, len(sides), per_side * size)
    asked = _padded(query, len(sides), per_side * size).view(chunks, size, dim)
    d_asked, d_negatives, losses = torch.empty_like(asked), torch.zeros_like(negatives), torch.empty_like(own)
    corrected, against = taken.beside(asked, negatives)
    for tile in _tiles(chunks, size, tile_rows(similarity, count, dim, query.is_cuda), together=query.is_cuda):
        scores = similarity.tile(corrected[tile.chunks, tile.rows], against[tile.chunks], workspace)
        taken.from_tile(scores, tile)
        flat = scores.view(-1, count)
        if hidden:
            hidden.hide(flat, tile.edges)
        losses[tile.edges] = loss(own[tile.edges], flat, workspace)
        if edges < per_side * size and not similarity.zeros_pull_nothing:
            _clear_filling(flat, tile.edges, edges, per_side * size, len(sides))
        similarity.tile_backward(
            asked[tile.chunks, tile.rows],
            negatives[tile.chunks],
            scores,
            d_asked[tile.chunks, tile.rows],
            d_negatives[tile.chunks],
            workspace,
        )
    d_query, d_positive = _unpadded(d_asked.view(-1, dim), len(sides), edges), torch.empty_like(positive)
    similarity.pairs_backward(query, positive, _unpadded(own, len(sides), edges), d_query, d_positive)
    total = losses.view(len(sides), -1)[:, :edges].sum(dtype=torch.float64)
    return SideGrads(total, d_query, d_positive, d_negatives)


class _Taken:
    """Subtracts what the corrections of all ``sides``, or none, say of answers and of negatives.

    ``chunks``: of all sides, with ``size`` queries and ``count`` negatives each.
    """

    def __init__(self, sides: Sequence[Compared], chunks: int, size: int, count: int):
        self._sides, self._chunks, self._size, self._count = sides, chunks, size, count
        self._given = sides[0].correction
        self._negatives = None
        if self._given and self._given.negatives is not None:
            self._negatives = self._all(NEGATIVES).view(chunks, 1, count)

    def from_answers(self, scores: Tensor) -> None:
        """Change the scores of all sides' answers, without those that only fill chunks."""
        if self._given:
            scores -= self._all(ANSWERS)

    def from_tile(self, scores: Tensor, tile: _Tile) -> None:
        """Change the scores (chunks, queries, negatives) of a tile by what is known of each negative."""
        if self._negatives is not None:
            scores -= self._negatives[tile.chunks]

    def beside(self, asked: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor]:
        """Return queries (chunks, size, more) and negatives (chunks, count, more): products are less by what is taken by class.

        There is a column more for each class: of a query what is taken, of a negative 1 if it is of the class, else 0. A tile of
        scores has so many more numbers that to change it once more would take longer.
        """
        by_class = self._given and self._given.by_class
        if not by_class:
            return asked, negatives
        kinds = len(by_class.taken)
        classes = self._all(CLASSES).view(self._chunks, self._count, 1)
        taken = joined([side.tensor(TAKEN).view(kinds, -1).T for side in self._sides])
        taken = _padded(taken, len(self._sides), self._chunks // len(self._sides) * self._size).view(self._chunks, self._size, -1)
        own = classes == torch.arange(kinds, device=classes.device)
        return torch.cat([asked, -taken], 2), torch.cat([negatives, own.to(negatives.dtype)], 2)

    def _all(self, name: str) -> Tensor:
        """Return an array of all sides in turn, as an array of one dimension."""
        return joined([side.tensor(name).view(-1) for side in self._sides])


def joined(tensors: Sequence[Tensor]) -> Tensor:
    """Return tensors end to end. One alone is not copied."""
    return tensors[0] if len(tensors) == 1 else torch.cat(list(tensors))


def _padded(rows: Tensor, sides: int, count: int) -> Tensor:
    """Return the rows (sides * n, ...) with rows of zeros behind those of each side, which then has ``count``."""
    if len(rows) == sides * count:
        return rows
    out = rows.new_zeros((sides, count, *rows.shape[1:]))
    out[:, : len(rows) // sides] = rows.view(sides, -1, *rows.shape[1:])
    return out.flatten(0, 1)


def _clear_filling(d_scores: Tensor, tile: slice, edges: int, count: int, sides: int) -> None:
    """Set to 0 what belongs to rows that only fill the last chunks: behind the ``edges`` of each side, up to ``count``.

    ``d_scores``: of a tile, (rows, k). ``tile``: the places of these rows, where every side has ``count``.
    """
    for side in range(sides):
        start, end = (side * count + place - tile.start for place in (edges, count))
        d_scores[max(start, 0) : max(end, 0)] = 0


def _unpadded(rows: Tensor, sides: int, edges: int) -> Tensor:
    """Return the first ``edges`` rows of each side, (sides * edges, ...)."""
    return rows.view(sides, -1, *rows.shape[1:])[:, :edges].reshape(sides * edges, *rows.shape[1:])


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


class _Hidden:
    """Sets the scores of pairs that are left out to -inf. Every loss gives -inf a gradient of 0.

    ``rows``: of each side's edges, with those that fill its last chunks.
    """

    def __init__(self, sides: Sequence[Compared], rows: int):
        self._edges = one_after_another([side.left_out or NO_PAIRS for side in sides], rows).edges
        pairs = [(k, *side.pairs()) for k, side in enumerate(sides) if side.left_out]
        self._rows = joined([own + rows * k for k, own, _ in pairs])
        self._columns = joined([columns for _, _, columns in pairs])

    def hide(self, scores: Tensor, edges: slice) -> None:
        """Overwrite the scores of the pairs of a tile (stop - start, k), which has the edges start:stop."""
        first, last = np.searchsorted(self._edges, (edges.start, edges.stop)).tolist()
        places = (self._rows[first:last] - edges.start) * scores.shape[1] + self._columns[first:last]
        scores.view(-1).index_fill_(0, places, -torch.inf)


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
