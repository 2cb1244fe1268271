"""Compare queries with candidates, with gradients written by hand.

A similarity scores *pairs*, query i with candidate i, and *tiles*: in each of several chunks, every query with every candidate.
The backward passes turn d loss / d scores into gradients.

A tile keeps what its backward pass needs in the workspace. So each forward pass must be followed by its own backward pass. All
tensors are float32.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from marius_lite._native import distance_gradients, distance_scores
from marius_lite.nn.products import add_products_, products
from marius_lite.nn.workspace import Workspace

DIFFERENCES = 1 << 23
"""Numbers in torch's array of differences, which is in memory beside a tile of scores."""
TINY = 1e-30
"""The smallest norm to divide by. It makes the direction of a zero difference zero instead of 0 / 0."""


class Similarity(ABC):
    """A way to compare. Shapes of pairs: query (n, dim), other (n, dim), scores (n,).

    Of tiles: query (chunks, n, dim), candidates (chunks, m, dim), scores (chunks, n, m).
    """

    zeros_pull_nothing = False
    """Whether a query of zeros gives its candidates no gradient, whatever that of its scores."""

    def numbers_per_score(self, dim: int) -> int:
        """Return how many numbers the largest array of a tile has for each score."""
        return 1

    @abstractmethod
    def pairs(self, query: Tensor, other: Tensor) -> Tensor:
        """Return the scores (n,) of query[i] with other[i]."""

    @abstractmethod
    def pairs_backward(self, query: Tensor, other: Tensor, d_scores: Tensor, d_query: Tensor, d_other: Tensor) -> None:
        """Add to ``d_query`` and set ``d_other``."""

    @abstractmethod
    def tile(self, query: Tensor, candidates: Tensor, workspace: Workspace) -> Tensor:
        """Return the scores, contiguous. They stay valid until the next tile."""

    @abstractmethod
    def tile_backward(
        self, query: Tensor, candidates: Tensor, d_scores: Tensor, d_query: Tensor, d_candidates: Tensor, workspace: Workspace
    ) -> None:
        """Set ``d_query`` and add to ``d_candidates``, from ``d_scores``, which may be overwritten."""


class Inner(Similarity):
    """score = <query, candidate>."""

    zeros_pull_nothing = True

    def pairs(self, query: Tensor, other: Tensor) -> Tensor:
        return (query * other).sum(-1)

    def pairs_backward(self, query: Tensor, other: Tensor, d_scores: Tensor, d_query: Tensor, d_other: Tensor) -> None:
        column = d_scores.unsqueeze(1)
        d_query.addcmul_(other, column)
        torch.mul(query, column, out=d_other)

    def tile(self, query: Tensor, candidates: Tensor, workspace: Workspace) -> Tensor:
        return products(query, candidates, "tile", workspace)

    def tile_backward(
        self, query: Tensor, candidates: Tensor, d_scores: Tensor, d_query: Tensor, d_candidates: Tensor, workspace: Workspace
    ) -> None:
        d_query.copy_(products(d_scores, candidates.mT, "rows", workspace))
        add_products_(d_candidates, query, d_scores, workspace)


class L2(Similarity):
    """score = -sqrt(sum (query - candidate)^2). Tiles are matrix products.

    They take |q - c|^2 = |q|^2 - 2 <q, c> + |c|^2, which loses its digits where q and c nearly agree. A result below the rounding
    error of |q|^2 is raised to that error. This also bounds the gradient there.
    """

    rounding = 1e-6

    def pairs(self, query: Tensor, other: Tensor) -> Tensor:
        distance: Tensor = torch.linalg.vector_norm(query - other, dim=-1)
        return distance.neg_()

    def pairs_backward(self, query: Tensor, other: Tensor, d_scores: Tensor, d_query: Tensor, d_other: Tensor) -> None:
        torch.sub(query, other, out=d_other)
        norm = torch.linalg.vector_norm(d_other, dim=-1).clamp_min_(TINY)
        d_other *= (d_scores / norm).unsqueeze(1)
        d_query -= d_other

    def tile(self, query: Tensor, candidates: Tensor, workspace: Workspace) -> Tensor:
        squares = torch.linalg.vecdot(query, query).unsqueeze(2)
        distance = products(query, candidates, "tile", workspace).mul_(-2)
        distance += torch.linalg.vecdot(candidates, candidates).unsqueeze(1)
        distance += squares
        torch.maximum(distance, squares.mul_(self.rounding).clamp_min_(TINY), out=distance).sqrt_()
        kept = workspace.tensor("distance", tuple(distance.shape), query.device).copy_(distance)
        return torch.neg(kept, out=distance)

    def tile_backward(
        self, query: Tensor, candidates: Tensor, d_scores: Tensor, d_query: Tensor, d_candidates: Tensor, workspace: Workspace
    ) -> None:
        d_scores /= workspace.tensor("distance", tuple(d_scores.shape), query.device)
        pulls = products(d_scores, candidates.mT, "rows", workspace)
        torch.addcmul(pulls, query, d_scores.sum(2, keepdim=True), value=-1, out=d_query)
        add_products_(d_candidates, query, d_scores, workspace)
        d_candidates.addcmul_(candidates, d_scores.sum(1).unsqueeze(2), value=-1)


class Distance(Similarity):
    """score = -norm(query - candidate), for norms that no matrix product gives.

    On CPUs `csrc/score/distances.h` scores the tiles, a chunk at a time. On GPUs torch does, from arrays of differences of
    bounded size, of as many chunks as there is room for.
    """

    name: str
    """Its name in the native kernels."""

    @abstractmethod
    def norm(self, difference: Tensor) -> Tensor:
        """Return the norms (...) of differences (..., dim)."""

    @abstractmethod
    def pulls_(self, difference: Tensor, weights: Tensor) -> Tensor:
        """Overwrite differences (..., dim) with the gradients of their norms times ``weights`` (...), and return them."""

    def pairs(self, query: Tensor, other: Tensor) -> Tensor:
        return self.norm(query - other).neg_()

    def pairs_backward(self, query: Tensor, other: Tensor, d_scores: Tensor, d_query: Tensor, d_other: Tensor) -> None:
        torch.sub(query, other, out=d_other)
        self.pulls_(d_other, d_scores)
        d_query -= d_other

    def tile(self, query: Tensor, candidates: Tensor, workspace: Workspace) -> Tensor:
        scores = workspace.tensor("tile", (*query.shape[:2], candidates.shape[1]), query.device)
        if query.is_cuda:
            return self.tile_by_torch(query, candidates, scores, workspace)
        for own, others, found in zip(query, candidates, scores, strict=True):
            distance_scores(self.name, _array(own), _array(others), found.numpy(), torch.get_num_threads())
        return scores

    def tile_backward(
        self, query: Tensor, candidates: Tensor, d_scores: Tensor, d_query: Tensor, d_candidates: Tensor, workspace: Workspace
    ) -> None:
        if query.is_cuda:
            self.tile_backward_by_torch(query, candidates, d_scores, d_query, d_candidates, workspace)
            return
        for tensors in zip(query, candidates, d_scores, d_query, d_candidates, strict=True):
            own, others, d_own = (_array(tensor) for tensor in tensors[:3])
            d_query_of, d_candidates_of = (tensor.numpy() for tensor in tensors[3:])
            distance_gradients(self.name, own, others, d_own, d_query_of, d_candidates_of, torch.get_num_threads())

    def tile_by_torch(self, query: Tensor, candidates: Tensor, scores: Tensor, workspace: Workspace) -> Tensor:
        """Do what `tile` does, into ``scores``, on any device. No chunk's bits depend on the others."""
        for chunks, rows in _pieces(query, candidates):
            norms = self.norm(self._differences(query[chunks, rows], candidates[chunks], workspace))
            torch.neg(norms, out=scores[chunks, rows])
        return scores

    def tile_backward_by_torch(
        self, query: Tensor, candidates: Tensor, d_scores: Tensor, d_query: Tensor, d_candidates: Tensor, workspace: Workspace
    ) -> None:
        """Do what `tile_backward` does, on any device. No chunk's bits depend on the others."""
        for chunks, rows in _pieces(query, candidates):
            differences = self._differences(query[chunks, rows], candidates[chunks], workspace)
            pulls = self.pulls_(differences, d_scores[chunks, rows])
            torch.sum(pulls, 2, out=d_query[chunks, rows])
            d_candidates[chunks].sub_(pulls.sum(1))

    @staticmethod
    def _differences(query: Tensor, candidates: Tensor, workspace: Workspace) -> Tensor:
        """Return candidate - query (chunks, n, m, dim) of all pairs in each chunk."""
        out = workspace.tensor("differences", (*query.shape[:2], *candidates.shape[1:]), query.device)
        return torch.sub(candidates.unsqueeze(1), query.unsqueeze(2), out=out)


class L1(Distance):
    """score = -sum |query - candidate|."""

    name = "l1"

    def norm(self, difference: Tensor) -> Tensor:
        return difference.abs().sum(-1)

    def pulls_(self, difference: Tensor, weights: Tensor) -> Tensor:
        return difference.sign_().mul_(weights.unsqueeze(-1))

    def tile_by_torch(self, query: Tensor, candidates: Tensor, scores: Tensor, workspace: Workspace) -> Tensor:
        return torch.neg(torch.cdist(query, candidates, p=1.0), out=scores)


class ComplexL2(Distance):
    """score = -sum of the moduli of dim / 2 complex differences. Real parts come first, imaginary parts after."""

    name = "complex_l2"

    def norm(self, difference: Tensor) -> Tensor:
        return self._moduli(difference).sum(-1)

    def pulls_(self, difference: Tensor, weights: Tensor) -> Tensor:
        parts, moduli = torch.unflatten(difference, -1, (2, -1)), self._moduli(difference).clamp_min_(TINY).unsqueeze(-2)
        if difference.is_cuda:  # passes over memory are what takes the time there
            parts *= torch.div(weights[..., None, None], moduli, out=moduli)
        else:
            parts *= moduli.reciprocal_()
            difference *= weights.unsqueeze(-1)
        return difference

    @staticmethod
    def _moduli(difference: Tensor) -> Tensor:
        real, imaginary = difference.chunk(2, -1)
        if difference.is_cuda:
            return torch.hypot(real, imaginary)
        return (real * real).addcmul_(imaginary, imaginary).sqrt_()


def _array(tensor: Tensor) -> npt.NDArray[np.float32]:
    array: npt.NDArray[np.float32] = tensor.contiguous().numpy()
    return array


def _pieces(query: Tensor, candidates: Tensor) -> Iterator[tuple[slice, slice]]:
    """Yield (chunks, rows) of the queries, in order: several whole chunks, or some rows of one.

    Their differences to all candidates of their chunk are at most DIFFERENCES numbers, or those of single queries. Chunks are
    split alike whether they come together or alone. For so many queries, pieces are at most twice as many as of one chunk.
    """
    chunks, size = query.shape[:2]
    fitting = max(1, DIFFERENCES // max(1, candidates[:1].numel()))
    together, rows = max(1, fitting // max(1, size)), min(fitting, size)
    for first in range(0, chunks, together):
        for start in range(0, size, rows):
            yield slice(first, first + together), slice(start, start + rows)


SIMILARITIES: dict[str, Similarity] = {"inner": Inner(), "l1": L1(), "l2": L2(), "complex_l2": ComplexL2()}
