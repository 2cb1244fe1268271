"""TransE (Bordes et al., NIPS 2013): a relation moves a source to its destination."""

from __future__ import annotations

import numpy as np
import torch

from marius_lite.nn.decoders.base import Decoder, Values, translation_bound, uniform


class TransE(Decoder):
    """score = -|src + rel - dst|_2."""

    similarity = "l2"

    def query(self, entity: torch.Tensor, relation: torch.Tensor, side: int) -> torch.Tensor:
        return entity + relation if side == 0 else entity - relation

    def initial_relations(self, generator: np.random.Generator, count: int, dim: int) -> Values:
        return uniform(generator, count, dim, translation_bound(dim))

    def initial_entities(self, generator: np.random.Generator, count: int, dim: int) -> Values:
        return uniform(generator, count, dim, translation_bound(dim))


class TransEL1(TransE):
    """score = -|src + rel - dst|_1."""

    similarity = "l1"
