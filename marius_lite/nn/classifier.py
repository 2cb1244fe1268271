"""Classification of nodes: an encoder's vectors of the seeds are the scores of their classes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from marius_lite.nn.encoders import CustomEncoder, Encoder

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
    """``encoder``: its vectors are the scores; ``loss`` of scores, which counts classes by ``weights``."""

    weights: Tensor | None

    def __init__(self, encoder: Encoder | CustomEncoder, loss: Loss = cross_entropy, weights: Tensor | None = None):
        super().__init__()
        self.register_buffer("weights", weights, persistent=False)
        self.encoder, self.loss = encoder, loss

    def gradients(self, scores: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The loss of scores (n, classes), and their gradient."""
        scores = scores.detach().requires_grad_()
        loss = self.loss(scores, labels, self.weights)
        (d_scores,) = torch.autograd.grad(loss, scores)
        return loss.detach(), d_scores
