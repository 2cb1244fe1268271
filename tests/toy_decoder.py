"""A decoder that is none of the package's, with weights and dropout of its own; `register` is the one line it takes."""

import torch

from marius_lite.config.decoders import DECODERS, DecoderEntry
from marius_lite.nn.decoders import Decoder


class Toy(Decoder):
    """score = <rel * (W src + b), dst>, some of rel dropped while it trains."""

    def __init__(self, dim):
        super().__init__(dim)
        self.turn = torch.nn.Linear(dim, dim)
        self.dropout = torch.nn.Dropout(0.1)

    def query(self, entity, context, side):
        relation = self.dropout(context.relation)
        return relation * self.turn(entity) if side == 0 else (relation * entity) @ self.turn.weight


def register(monkeypatch):
    monkeypatch.setitem(DECODERS, "toy", DecoderEntry("toy_decoder:Toy", weights=lambda dim: dim * dim + dim))
