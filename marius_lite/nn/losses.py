"""Losses of edges' scores against their negatives, with gradients written by hand.

A loss is called with the scores of n edges, float32: of their positives (n,), and a tile of their negatives (n, k). It returns
each edge's loss, float32 (n,). It overwrites the scores with d loss / d scores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch

from marius_lite._native import softmax_loss
from marius_lite.device.library import library
from marius_lite.nn.workspace import Workspace


class Loss(ABC):
    """A loss. Each is a frozen dataclass, whose fields are its options.

    ``native``: its name for `csrc/score/shared_loss.h`, and the margin there; None where native code does not have it.
    """

    @property
    def native(self) -> tuple[str, float] | None:
        return None

    @abstractmethod
    def __call__(self, positive: torch.Tensor, negatives: torch.Tensor, workspace: Workspace) -> torch.Tensor:
        """Return the losses (n,) of scores (n,) and (n, k), which are overwritten with the gradients of the losses' sum.

        The losses stay valid until the next call.
        """


@dataclass(frozen=True)
class Softmax(Loss):
    """The cross-entropy of the positive among all scores: logsumexp(scores) - positive."""

    @property
    def native(self) -> tuple[str, float]:
        return "softmax", 0.0

    def __call__(self, positive: torch.Tensor, negatives: torch.Tensor, workspace: Workspace) -> torch.Tensor:
        losses = workspace.tensor("losses", (len(positive),), positive.device)
        if not negatives.is_cuda:
            softmax_loss(positive.numpy(), negatives.numpy(), losses.numpy(), torch.get_num_threads())
            return losses
        assert all(tensor.is_contiguous() and tensor.dtype == torch.float32 for tensor in (positive, negatives))
        library().softmax_loss(
            device=negatives.device.index or 0,
            stream=torch.cuda.current_stream(negatives.device).cuda_stream,  # another one while a graph is captured
            positive=positive.data_ptr(),
            negatives=negatives.data_ptr(),
            losses=losses.data_ptr(),
            rows=negatives.shape[0],
            columns=negatives.shape[1],
        )
        return losses


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

    def __call__(self, positive: torch.Tensor, negatives: torch.Tensor, workspace: Workspace) -> torch.Tensor:
        if self.margin:
            positive += self.margin
            negatives += self.margin
        weights = self._weights(negatives, workspace)
        zero = negatives.new_zeros(())
        every = workspace.tensor("losses", tuple(negatives.shape), negatives.device)
        torch.logaddexp(negatives, zero, out=every).mul_(weights)
        losses = every.sum(1).add_(torch.logaddexp(-positive, zero))
        negatives.sigmoid_().mul_(weights)
        positive.neg_().sigmoid_().neg_()
        return losses

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

    def __call__(self, positive: torch.Tensor, negatives: torch.Tensor, workspace: Workspace) -> torch.Tensor:
        share = 1 / max(negatives.shape[1], 1)
        negatives.sub_((positive - self.margin).unsqueeze(1)).clamp_min_(0)
        losses = negatives.sum(1).mul_(share)
        negatives.sign_().mul_(share)
        torch.sum(negatives, 1, out=positive).neg_()
        return losses


LOSSES: dict[str, type[Loss]] = {"softmax": Softmax, "logistic": Logistic, "margin": Margin}
