"""RotatE (Sun et al., ICLR 2019): a relation rotates each complex number of a source to that of its destination."""

from __future__ import annotations

import math

import torch

from marius_lite.nn.decoders.base import Decoder, EdgeContext, unit_draw
from marius_lite.nn.decoders.complex import complex_product
from marius_lite.nn.decoders.draw import Draw


class RotatE(Decoder):
    """score = -sum over k < dim / 2 of |src_k * exp(i rel_k) - dst_k|. A relation has dim / 2 phases."""

    similarity = "complex_l2"

    @classmethod
    def relation_dim(cls, dim: int) -> int:
        return dim // 2

    def query(self, entity: torch.Tensor, context: EdgeContext, side: int) -> torch.Tensor:
        turn = torch.cat([context.relation.cos(), context.relation.sin()], -1)
        return complex_product(entity, turn, conjugate=side == 1)

    @classmethod
    def node_draw(cls, dim: int) -> Draw:
        return unit_draw(dim)

    @classmethod
    def relation_draw(cls, dim: int) -> Draw:
        return Draw("uniform", math.pi)
