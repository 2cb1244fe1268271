"""The base of decoders: a query is made from an entity and its edge, and compared with candidate entities."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch

from marius_lite.nn.decoders.draw import Draw


@dataclass(frozen=True, slots=True)
class EdgeContext:
    """What n edges have beside their ends: the rows (n, relation_dim) of their relations."""

    relation: torch.Tensor


class Decoder(torch.nn.Module, ABC):
    """A decoder: score(src, rel, dst) = similarity(query(src, rel, 0), dst) = similarity(query(dst, rel, 1), src).

    One query serves all candidates of a side. So n edges are scored against k candidates by one product of an (n, dim) and a
    (dim, k) matrix. ``similarity`` is a name in `marius_lite.nn.similarities.SIMILARITIES`.

    A decoder may have weights of its own, made in ``__init__``. They learn like every dense weight. All that it draws, first
    weights and masks, must come from torch's generator, which is seeded for it.
    """

    similarity: str = "inner"

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    @classmethod
    def relation_dim(cls, dim: int) -> int:
        """Return how many numbers a relation has; 0 for decoders that do not use relations."""
        return dim

    @abstractmethod
    def query(self, entity: torch.Tensor, context: EdgeContext, side: int) -> torch.Tensor:
        """Return the queries (n, dim) of entities (n, dim) and the context of their edges. It must be differentiable.

        Side 0: the entity is the source, and candidates are destinations. Side 1: the other way round. With reciprocal relations
        only side 0 is used.
        """

    def relation_query(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return queries (n, relation_dim) for relations, from both ends of edges, (n, dim) each. It must be differentiable.

        similarity(relation_query, rel) is the score of the edge with that relation. A decoder needs this only where its entry in
        `DECODERS` says ``asks_for_relations``.
        """
        raise AssertionError(f"{type(self).__name__} cannot ask for relations")

    @classmethod
    def node_draw(cls, dim: int) -> Draw:
        """Return the distribution of the first node rows. They are small, so that the first scores are all alike."""
        return Draw("normal", 1e-3)

    @classmethod
    def relation_draw(cls, dim: int) -> Draw:
        """Return the distribution of the first relations. It never makes all numbers alike.

        A relation that changes nothing makes every node its own best answer. In sparse graphs no edge corrects that.
        """
        return Draw("normal", 1.0)

    def modulus(self, values: torch.Tensor) -> torch.Tensor:
        """Return |x| of the numbers in ``values`` (..., dim), same shape. Each part of a complex number gets its modulus."""
        return values.abs()

    def add_n3_gradient(self, values: torch.Tensor, weight: float, grad: torch.Tensor) -> None:
        """Add the gradient of the N3 regularizer to ``grad``: 3 * weight * |x| * x for each x in ``values``; both (..., dim).

        N3 is weight * the sum of |x|^3 in a batch's rows (Lacroix et al., ICML 2018).
        """
        grad.addcmul_(self.modulus(values), values, value=3 * weight)


def unit_draw(dim: int) -> Draw:
    """Return a distribution of rows whose norm is about 1, as TransE's authors take it (Bordes et al., NIPS 2013).

    Where rows are much further apart, each edge is learned for itself, and little follows for others.
    """
    return Draw("uniform", math.sqrt(3 / dim))
