"""What every decoder is: a query made of an entity and a relation, compared with candidate entities."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch

from marius_lite.errors import UserError
from marius_lite.nn.decoders.draw import Draw


class Decoder(ABC):
    """score(src, rel, dst) = similarity(query(src, rel, 0), dst) = similarity(query(dst, rel, 1), src).

    One query serves all candidates of a side: scoring n edges against k candidates is one product of an
    (n, dim) and a (dim, k) matrix. ``similarity`` is a name in
    `marius_lite.nn.similarities.SIMILARITIES`.
    """

    similarity: str = "inner"
    even = False
    """Whether ``dim`` must be even: halves hold real and imaginary parts."""
    asks_for_relations = False
    """Whether relations can be ranked given both ends, by `relation_query`."""

    def check(self, dim: int) -> None:
        """UserError when the decoder cannot use ``dim`` numbers a node."""
        if dim < 1 or (self.even and dim % 2):
            raise UserError(f"model.dim: found {dim}, decoder {type(self).__name__} needs "
                            f"{'an even' if self.even else 'a'} number >= {2 if self.even else 1}")

    def relation_dim(self, dim: int) -> int:
        """Numbers stored per relation; 0 for decoders that do not look at relations."""
        return dim

    @abstractmethod
    def query(self, entity: torch.Tensor, relation: torch.Tensor, side: int) -> torch.Tensor:
        """(n, dim) from entities (n, dim) and relations (n, relation_dim); differentiable.

        Side 0: the entity is the source, candidates are destinations. Side 1: the other way round.
        """

    def relation_query(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """(n, relation_dim) from both ends of edges, (n, dim) each: similarity(relation_query, rel) is the edge's score with
        that relation; differentiable. Only where `asks_for_relations`."""
        raise AssertionError(f"{type(self).__name__} cannot ask for relations")

    def node_draw(self, dim: int) -> Draw:
        """What node rows start from: small, so that the first scores are all alike."""
        return Draw("normal", 1e-3)

    def relation_draw(self, dim: int) -> Draw:
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
