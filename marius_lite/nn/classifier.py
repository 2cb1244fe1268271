"""Classification of nodes: an encoder's vectors of the seeds are the scores of their classes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from marius_lite.nn.dropout import dropout
from marius_lite.nn.encoders import CustomEncoder, Encoder, LayerGraph
from marius_lite.nn.inputs import normalized

Loss = Callable[[Tensor, Tensor, Tensor | None], Tensor]
"""The loss of scores (n, classes), from labels and perhaps weights (classes,)."""


def cross_entropy(scores: Tensor, labels: Tensor, weights: Tensor | None) -> Tensor:
    """Of one class a node, labels (n,): the mean over nodes, each times the weight of its class and divided by their sum."""
    return torch.nn.functional.cross_entropy(scores, labels, weights)


def binary_cross_entropy(scores: Tensor, labels: Tensor, weights: Tensor | None) -> Tensor:
    """Of any number of classes a node: the mean over nodes and classes; where a node has a class, times the weight of the class.
    ``labels`` are 0 or 1, (n, classes), or as many in one row after the other."""
    known = labels.reshape(scores.shape).to(scores.dtype)
    return torch.nn.functional.binary_cross_entropy_with_logits(scores, known, pos_weight=weights)


class NodeClassifier(torch.nn.Module):
    """``dropout`` applies to the input as well; ``normalize``: see `nn.inputs.normalized`; ``loss`` of scores, which counts
    classes by ``weights``."""

    weights: Tensor | None

    def __init__(self, encoder: Encoder | CustomEncoder, dropout: float, normalize: int, loss: Loss = cross_entropy,
                 weights: Tensor | None = None):
        super().__init__()
        self.register_buffer("weights", weights, persistent=False)
        self.encoder, self.dropout, self.normalize, self.loss = encoder, dropout, normalize, loss

    def learn(self, x: Tensor, graph: LayerGraph, labels: Tensor, seed: int, rows_learn: bool) -> tuple[Tensor, Tensor | None]:
        """The loss of the seeds' classes; gradients of the parameters in ``.grad``, and of ``x`` if its
        rows learn. Everything drawn follows from ``seed``.
        """
        torch.manual_seed(seed)
        x = x.requires_grad_(rows_learn)
        inputs = normalized(x, self.normalize)
        if self.dropout:
            inputs = dropout(inputs, self.dropout)
        loss = self.loss(self.encoder(inputs, graph), labels, self.weights)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach(), x.grad
