"""DistMult (Yang et al., ICLR 2015): a weighted inner product, the weights given by the relation."""

from __future__ import annotations

import numpy as np
import torch

from marius_lite.nn.decoders.base import Decoder, Values


class DistMult(Decoder):
    """score = <src * rel, dst>; the same for both directions of an edge."""

    def query(self, entity: torch.Tensor, relation: torch.Tensor, side: int) -> torch.Tensor:
        return entity * relation

    def initial_relations(self, generator: np.random.Generator, count: int, dim: int) -> Values:
        return np.ones((count, dim), np.float32)
