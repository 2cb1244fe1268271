"""Classification of nodes: an encoder's vectors of the seeds are the scores of their classes."""

from __future__ import annotations

import torch
from torch import Tensor

from marius_lite.nn.dropout import dropout
from marius_lite.nn.encoders import CustomEncoder, Encoder, LayerGraph
from marius_lite.nn.inputs import normalized


class NodeClassifier(torch.nn.Module):
    """``dropout`` applies to the input as well; ``normalize``: see `nn.inputs.normalized`; ``weights`` (classes,): factors of the
    losses of nodes by their class, whose sum is divided by that of the factors."""

    weights: Tensor | None

    def __init__(self, encoder: Encoder | CustomEncoder, dropout: float, normalize: int, weights: Tensor | None = None):
        super().__init__()
        self.register_buffer("weights", weights, persistent=False)
        self.encoder, self.dropout, self.normalize = encoder, dropout, normalize

    def learn(self, x: Tensor, graph: LayerGraph, labels: Tensor, seed: int, rows_learn: bool) -> tuple[Tensor, Tensor | None]:
        """The (weighted) mean cross-entropy of the seeds' classes; gradients of the parameters in ``.grad``, and of ``x`` if its
        rows learn. Everything drawn follows from ``seed``.
        """
        torch.manual_seed(seed)
        x = x.requires_grad_(rows_learn)
        inputs = normalized(x, self.normalize)
        if self.dropout:
            inputs = dropout(inputs, self.dropout)
        loss = torch.nn.functional.cross_entropy(self.encoder(inputs, graph), labels, self.weights)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach(), x.grad
