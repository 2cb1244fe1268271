"""Inner product of two entities; relations play no part."""

from __future__ import annotations

import torch

from marius_lite.nn.decoders.base import Decoder


class Dot(Decoder):
    """score = <src, dst>."""

    def relation_dim(self, dim: int) -> int:
        return 0

    def query(self, entity: torch.Tensor, relation: torch.Tensor, side: int) -> torch.Tensor:
        return entity
