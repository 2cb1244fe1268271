"""Classify nodes: an encoder's vector of a node has the score of each class."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from marius_lite.nn.encoders import CustomEncoder, Layered
from marius_lite.nn.encoders.one_layer import RowModel

Loss = Callable[[Tensor, Tensor, Tensor | None], Tensor]
"""A function of scores (n, classes), labels, and weights (classes,) or None. It returns the loss, a scalar."""


def cross_entropy(scores: Tensor, labels: Tensor, weights: Tensor | None) -> Tensor:
    """Return the loss where each node has one class, ``labels`` (n,): the mean over nodes, weighted by their classes' weights."""
    return torch.nn.functional.cross_entropy(scores, labels, weights)


def binary_cross_entropy(scores: Tensor, labels: Tensor, weights: Tensor | None) -> Tensor:
    """Return the loss where a node has any number of classes: the mean over nodes and classes.

    Where a node has a class, its term is multiplied by the weight of the class. ``labels``: 0 or 1, (n, classes), or flat.
    """
    known = labels.reshape(scores.shape).to(scores.dtype)
    return torch.nn.functional.binary_cross_entropy_with_logits(scores, known, pos_weight=weights)


class NodeClassifier(torch.nn.Module):
    """An encoder whose vectors are the scores of classes, and the loss of scores with the weights of classes."""

    weights: Tensor | None

    def __init__(self, encoder: Layered | CustomEncoder | RowModel, loss: Loss = cross_entropy, weights: Tensor | None = None):
        super().__init__()
        self.register_buffer("weights", weights, persistent=False)
        self.encoder, self.loss = encoder, loss

    def gradients(self, scores: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss of scores (n, classes), and the gradient of the scores."""
        scores = scores.detach().requires_grad_()
        loss = self.loss(scores, labels, self.weights)
        (d_scores,) = torch.autograd.grad(loss, scores)
        return loss.detach(), d_scores
