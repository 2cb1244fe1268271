"""RotatE (Sun et al., ICLR 2019): a relation turns each complex number of a source onto its destination's."""

from __future__ import annotations

import math

import torch

from marius_lite.nn.decoders.base import Decoder, complex_product, unit_draw
from marius_lite.nn.decoders.draw import Draw


class RotatE(Decoder):
    """score = -sum over k < dim / 2 of |src_k * exp(i rel_k) - dst_k|; a relation is dim / 2 phases."""

    similarity = "complex_l2"
    even = True

    def relation_dim(self, dim: int) -> int:
        return dim // 2

    def query(self, entity: torch.Tensor, relation: torch.Tensor, side: int) -> torch.Tensor:
        turn = torch.cat([relation.cos(), relation.sin()], -1)
        return complex_product(entity, turn, conjugate=side == 1)

    def node_draw(self, dim: int) -> Draw:
        return unit_draw(dim)

    def relation_draw(self, dim: int) -> Draw:
        return Draw("uniform", math.pi)
