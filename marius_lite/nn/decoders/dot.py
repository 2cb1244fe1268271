"""Inner product of two entities; relations play no part."""

from __future__ import annotations

import numpy as np
import torch

from marius_lite.nn.decoders.base import Decoder, Values


class Dot(Decoder):
    """score = <src, dst>."""

    def relation_dim(self, dim: int) -> int:
        return 0

    def query(self, entity: torch.Tensor, relation: torch.Tensor, side: int) -> torch.Tensor:
        return entity

    def initial_relations(self, generator: np.random.Generator, count: int, dim: int) -> Values:
        return np.empty((count, 0), np.float32)
