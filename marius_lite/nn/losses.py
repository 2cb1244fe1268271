"""Losses over (positive, shared negatives), with gradients written by hand over the scores.

A loss is called with a tile of scores, (n, 1 + k) float32: column 0 the positive of each edge, then its k
negatives. It returns the sum of the edges' losses, a float64 scalar tensor, and leaves d loss / d scores in
the tile.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch

from marius_lite._native import softmax_loss
from marius_lite.nn.workspace import Workspace


class Loss(ABC):
    """Options are the fields of each (frozen) dataclass, with their defaults."""

    @abstractmethod
    def __call__(self, scores: torch.Tensor, workspace: Workspace) -> torch.Tensor:
        """The summed loss of ``scores`` (n, 1 + k), whose content becomes the gradient."""


@dataclass(frozen=True)
class Softmax(Loss):
    """Cross-entropy of the positive among itself and the negatives: logsumexp(scores) - positive."""

    def __call__(self, scores: torch.Tensor, workspace: Workspace) -> torch.Tensor:
        if not scores.is_cuda:
            losses = workspace.tensor("losses", (len(scores),), scores.device)
            softmax_loss(scores.numpy(), losses.numpy(), torch.get_num_threads())
            return losses.sum(dtype=torch.float64)
        positive = scores[:, 0].clone()
        highest = scores.amax(1)
        torch.softmax(scores, 1, out=scores)
        # The highest probability is at least 1 / (1 + k): its logarithm is safe where the positive's is not.
        losses = highest - scores.amax(1).log_() - positive
        scores[:, 0] -= 1
        return losses.sum(dtype=torch.float64)


@dataclass(frozen=True)
class Logistic(Loss):
    """softplus(-(margin + positive)) + weighted mean of softplus(margin + negative).

    Weights are 1 / k, or, where ``temperature`` is not 0, softmax(temperature * negatives) taken as constants
    (self-adversarial sampling, Sun et al., ICLR 2019). ``margin`` is for scores that are never positive:
    negated distances.
    """

    margin: float = 0.0
    temperature: float = 0.0

    def __call__(self, scores: torch.Tensor, workspace: Workspace) -> torch.Tensor:
        if self.margin:
            scores += self.margin
        weights = self._weights(scores[:, 1:], workspace)
        scores[:, 0].neg_()
        losses = workspace.tensor("losses", tuple(scores.shape), scores.device)
        torch.logaddexp(scores, scores.new_zeros(()), out=losses)
        losses[:, 1:] *= weights
        scores.sigmoid_()
        scores[:, 0].neg_()
        scores[:, 1:] *= weights
        return losses.sum(1).sum(dtype=torch.float64)

    def _weights(self, negatives: torch.Tensor, workspace: Workspace) -> torch.Tensor | float:
        if not self.temperature:
            return 1 / max(negatives.shape[1], 1)
        weights = workspace.tensor("weights", tuple(negatives.shape), negatives.device)
        torch.mul(negatives, self.temperature, out=weights)
        return torch.softmax(weights, 1, out=weights)


@dataclass(frozen=True)
class Margin(Loss):
    """Mean over the negatives of max(0, margin + negative - positive)."""

    margin: float = 1.0

    def __call__(self, scores: torch.Tensor, workspace: Workspace) -> torch.Tensor:
        negatives = scores[:, 1:]
        share = 1 / max(negatives.shape[1], 1)
        negatives.sub_(scores[:, :1] - self.margin).clamp_min_(0)
        loss = negatives.sum(1).sum(dtype=torch.float64) * share
        negatives.sign_().mul_(share)
        torch.sum(negatives, 1, out=scores[:, 0]).neg_()
        return loss


LOSSES: dict[str, type[Loss]] = {"softmax": Softmax, "logistic": Logistic, "margin": Margin}

