"""DistMult (Yang et al., ICLR 2015): a weighted inner product, the weights given by the relation."""

from __future__ import annotations

import torch

from marius_lite.nn.decoders.base import Decoder


class DistMult(Decoder):
    """score = <src * rel, dst>; the same for both directions of an edge."""

    asks_for_relations = True

    def query(self, entity: torch.Tensor, relation: torch.Tensor, side: int) -> torch.Tensor:
        return entity * relation

    def relation_query(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return source * target
