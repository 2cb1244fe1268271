"""DistMult (Yang et al., ICLR 2015): a weighted inner product, the weights given by the relation."""

from __future__ import annotations

import torch

from marius_lite.nn.decoders.base import Decoder, EdgeContext


class DistMult(Decoder):
    """score = <src * rel, dst>; the same for both directions of an edge."""

    def query(self, entity: torch.Tensor, context: EdgeContext, side: int) -> torch.Tensor:
        return entity * context.relation

    def relation_query(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return source * target
