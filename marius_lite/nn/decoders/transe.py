"""TransE (Bordes et al., NIPS 2013): a relation moves a source to its destination."""

from __future__ import annotations

import torch

from marius_lite.nn.decoders.base import Decoder, translation_draw
from marius_lite.nn.decoders.draw import Draw


class TransE(Decoder):
    """score = -|src + rel - dst|_2."""

    similarity = "l2"
    asks_for_relations = True

    def query(self, entity: torch.Tensor, relation: torch.Tensor, side: int) -> torch.Tensor:
        return entity + relation if side == 0 else entity - relation

    def relation_query(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return target - source

    def node_draw(self, dim: int) -> Draw:
        return translation_draw(dim)

    def relation_draw(self, dim: int) -> Draw:
        return translation_draw(dim)


class TransEL1(TransE):
    """score = -|src + rel - dst|_1."""

    similarity = "l1"

    def node_draw(self, dim: int) -> Draw:
        """Nodes start close together, about 1 apart. Drawn as relations are they are so far apart that edges are learned one by
        one, and nothing follows for others, most where an epoch sees the nodes a few partitions at a time."""
        return Draw("uniform", 1 / dim)
