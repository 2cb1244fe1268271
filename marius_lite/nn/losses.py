"""Losses of edges' scores against their negatives, with gradients written by hand.

A loss is called with a tile of scores, (n, 1 + k) float32: in column 0 the positive of each edge, then its k negatives. It
returns the sum of the edges' losses, a float64 scalar tensor. It overwrites the tile with d loss / d scores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch

from marius_lite._native import softmax_loss
from marius_lite.nn.workspace import Workspace


@dataclass(frozen=True)
class SideGrads:
    """The summed loss of a side (float64 scalar tensor) and its gradients.

    ``query`` and ``positive``: (n, dim); ``negatives``: (chunks, k, dim), each chunk contiguous.
    """

    loss: torch.Tensor
    query: torch.Tensor
    positive: torch.Tensor
    negatives: torch.Tensor


class Loss(ABC):
    """A loss. Each is a frozen dataclass, whose fields are its options.

    ``native``: its name for `csrc/score/shared_loss.h`, and the margin there; None where native code does not have it.
    """

    @property
    def native(self) -> tuple[str, float] | None:
        return None

    @abstractmethod
    def __call__(self, scores: torch.Tensor, workspace: Workspace) -> torch.Tensor:
        """Return the summed loss of ``scores`` (n, 1 + k), which are overwritten with their gradient."""


@dataclass(frozen=True)
class Softmax(Loss):
    """The cross-entropy of the positive among all scores: logsumexp(scores) - positive."""

    @property
    def native(self) -> tuple[str, float]:
        return "softmax", 0.0

    def __call__(self, scores: torch.Tensor, workspace: Workspace) -> torch.Tensor:
        if not scores.is_cuda:
            losses = workspace.tensor("losses", (len(scores),), scores.device)
            softmax_loss(scores.numpy(), losses.numpy(), torch.get_num_threads())
            return losses.sum(dtype=torch.float64)
        positive = scores[:, 0].clone()
        highest = scores.amax(1)
        torch.softmax(scores, 1, out=scores)
        # The highest probability is at least 1 / (1 + k), so its logarithm is finite; the positive's may not be.
        losses = highest - scores.amax(1).log_() - positive
        scores[:, 0] -= 1
        return losses.sum(dtype=torch.float64)


@dataclass(frozen=True)
class Logistic(Loss):
    """The logistic loss: softplus(-(margin + positive)) + weighted mean of softplus(margin + negative).

    The weights are 1 / k. Where ``temperature`` is not 0 they are softmax(temperature * negatives), taken as constants
    (self-adversarial sampling, Sun et al., ICLR 2019). ``margin`` is for scores that are never positive, such as negated
    distances.
    """

    margin: float = 0.0
    temperature: float = 0.0

    @property
    def native(self) -> tuple[str, float] | None:
        return None if self.temperature else ("logistic", self.margin)

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
        # NaN where an edge has no negative: all of them are left out, with scores of -inf.
        return torch.softmax(weights, 1, out=weights).nan_to_num_(nan=0.0)


@dataclass(frozen=True)
class Margin(Loss):
    """The mean over the negatives of max(0, margin + negative - positive)."""

    margin: float = 1.0

    @property
    def native(self) -> tuple[str, float]:
        return "margin", self.margin

    def __call__(self, scores: torch.Tensor, workspace: Workspace) -> torch.Tensor:
        negatives = scores[:, 1:]
        share = 1 / max(negatives.shape[1], 1)
        negatives.sub_(scores[:, :1] - self.margin).clamp_min_(0)
        loss = negatives.sum(1).sum(dtype=torch.float64) * share
        negatives.sign_().mul_(share)
        torch.sum(negatives, 1, out=scores[:, 0]).neg_()
        return loss


LOSSES: dict[str, type[Loss]] = {"softmax": Softmax, "logistic": Logistic, "margin": Margin}
