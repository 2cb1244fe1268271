"""What every decoder is: a query made of an entity and a relation, compared with candidate entities."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.errors import UserError

Values = npt.NDArray[np.float32]


class Decoder(ABC):
    """score(src, rel, dst) = similarity(query(src, rel, 0), dst) = similarity(query(dst, rel, 1), src).

    One query serves all candidates of a side: scoring n edges against k candidates is one product of an
    (n, dim) and a (dim, k) matrix. ``similarity`` is a name in
    `marius_lite.nn.similarities.SIMILARITIES`.
    """

    similarity: str = "inner"
    even = False
    """Whether ``dim`` must be even: halves hold real and imaginary parts."""

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

    @abstractmethod
    def initial_relations(self, generator: np.random.Generator, count: int, dim: int) -> Values:
        """Values to start from, (count, relation_dim) float32."""

    def initial_entities(self, generator: np.random.Generator, count: int, dim: int) -> Values:
        """Values to start from, (count, dim) float32: small, so that the first scores are all alike."""
        values = generator.standard_normal((count, dim), np.float32)
        values *= np.float32(1e-3)
        return values

    def modulus(self, values: torch.Tensor) -> torch.Tensor:
        """|x| of the numbers in ``values`` (..., dim), same shape: for complex ones, at both their parts."""
        return values.abs()


def uniform(generator: np.random.Generator, count: int, dim: int, bound: float) -> Values:
    """(count, dim) float32 between -bound and bound."""
    values = generator.random((count, dim), np.float32)
    values *= np.float32(2 * bound)
    values -= np.float32(bound)
    return values


def translation_bound(dim: int) -> float:
    """6 / sqrt(dim): the range TransE starts from (Bordes et al., NIPS 2013)."""
    return 6 / math.sqrt(dim)


def complex_product(left: torch.Tensor, right: torch.Tensor, conjugate: bool) -> torch.Tensor:
    """left * right, or left * conj(right), on (..., dim): real parts first, imaginary parts after."""
    real, imaginary = left.chunk(2, -1)
    other_real, other_imaginary = right.chunk(2, -1)
    if conjugate:
        other_imaginary = -other_imaginary
    return torch.cat([real * other_real - imaginary * other_imaginary,
                      real * other_imaginary + imaginary * other_real], -1)
