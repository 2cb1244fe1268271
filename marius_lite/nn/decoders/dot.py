"""Dot: the inner product of two entities. Relations are not used."""

from __future__ import annotations

import torch

from marius_lite.nn.decoders.base import Decoder, EdgeContext


class Dot(Decoder):
    """score = <src, dst>."""

    @classmethod
    def relation_dim(cls, dim: int) -> int:
        return 0

    def query(self, entity: torch.Tensor, context: EdgeContext, side: int) -> torch.Tensor:
        return entity
