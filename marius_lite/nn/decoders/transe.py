"""TransE (Bordes et al., NIPS 2013): a relation is the vector that leads from a source to its destination."""

from __future__ import annotations

import torch

from marius_lite.nn.decoders.base import Decoder, EdgeContext, unit_draw
from marius_lite.nn.decoders.draw import Draw


class TransE(Decoder):
    """score = -|src + rel - dst|_2."""

    similarity = "l2"

    def query(self, entity: torch.Tensor, context: EdgeContext, side: int) -> torch.Tensor:
        return entity + context.relation if side == 0 else entity - context.relation

    def relation_query(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return target - source

    @classmethod
    def node_draw(cls, dim: int) -> Draw:
        return unit_draw(dim)

    @classmethod
    def relation_draw(cls, dim: int) -> Draw:
        return unit_draw(dim)


class TransEL1(TransE):
    """score = -|src + rel - dst|_1."""

    similarity = "l1"

    @classmethod
    def node_draw(cls, dim: int) -> Draw:
        """Return rows that are about 1 apart in the L1 norm. Rows of the L2 norm 1 would be ``sqrt(dim)`` apart."""
        return Draw("uniform", 1 / dim)
