"""DistMult (Yang et al., ICLR 2015): an inner product, weighted by the relation."""

from __future__ import annotations

import torch

from marius_lite.nn.decoders.base import Decoder, EdgeContext


class DistMult(Decoder):
    """score = <src * rel, dst>. It is the same for both directions of an edge."""

    def query(self, entity: torch.Tensor, context: EdgeContext, side: int) -> torch.Tensor:
        return entity * context.relation

    def relation_query(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return source * target
