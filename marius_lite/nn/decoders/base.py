"""What every decoder is: a query made of an entity and what its edge says, compared with candidate entities."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch

from marius_lite.nn.decoders.draw import Draw


@dataclass(frozen=True, slots=True)
class EdgeContext:
    """What n edges say beside their ends: the rows (n, relation_dim) of their relations."""

    relation: torch.Tensor


class Decoder(torch.nn.Module, ABC):
    """score(src, rel, dst) = similarity(query(src, rel, 0), dst) = similarity(query(dst, rel, 1), src).

    One query serves all candidates of a side: scoring n edges against k candidates is one product of an
    (n, dim) and a (dim, k) matrix. ``similarity`` is a name in
    `marius_lite.nn.similarities.SIMILARITIES`.

    A decoder may have weights of its own, made in ``__init__``: they learn like every dense weight. Whatever it draws, first
    weights and masks alike, comes from torch's generator, which is seeded for it.
    """

    similarity: str = "inner"

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    @classmethod
    def relation_dim(cls, dim: int) -> int:
        """Numbers stored per relation; 0 for decoders that do not look at relations."""
        return dim

    @abstractmethod
    def query(self, entity: torch.Tensor, context: EdgeContext, side: int) -> torch.Tensor:
        """(n, dim) from entities (n, dim) and their edges' context; differentiable.

        Side 0: the entity is the source, candidates are destinations. Side 1: the other way round; where relations have
        reciprocal ones, nobody asks for it.
        """

    def relation_query(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """(n, relation_dim) from both ends of edges, (n, dim) each: similarity(relation_query, rel) is the edge's score with
        that relation; differentiable. Only where its entry in `DECODERS` says ``asks_for_relations``."""
        raise AssertionError(f"{type(self).__name__} cannot ask for relations")

    @classmethod
    def node_draw(cls, dim: int) -> Draw:
        """What node rows start from: small, so that the first scores are all alike."""
        return Draw("normal", 1e-3)

    @classmethod
    def relation_draw(cls, dim: int) -> Draw:
        """What relations start from. Never all alike: a relation that is the identity makes every node its own best answer, and
        on sparse graphs nothing teaches it otherwise."""
        return Draw("normal", 1.0)

    def modulus(self, values: torch.Tensor) -> torch.Tensor:
        """|x| of the numbers in ``values`` (..., dim), same shape: for complex ones, at both their parts."""
        return values.abs()


def unit_draw(dim: int) -> Draw:
    """Rows of about the norm 1, which TransE's authors give those they draw (Bordes et al., NIPS 2013): much further apart, edges
    are learned one by one, and little follows for others."""
    return Draw("uniform", math.sqrt(3 / dim))


def complex_product(left: torch.Tensor, right: torch.Tensor, conjugate: bool) -> torch.Tensor:
    """left * right, or left * conj(right), on (..., dim): real parts first, imaginary parts after."""
    real, imaginary = left.chunk(2, -1)
    other_real, other_imaginary = right.chunk(2, -1)
    if conjugate:
        other_imaginary = -other_imaginary
    return torch.cat([real * other_real - imaginary * other_imaginary,
                      real * other_imaginary + imaginary * other_real], -1)
