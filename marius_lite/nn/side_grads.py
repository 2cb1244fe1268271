"""The result of scoring one side's queries against their positives and negatives."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class SideGrads:
    """The summed loss (float64 scalar tensor) and its gradients.

    ``query`` and ``positive``: (n, dim); ``negatives``: (chunks, k, dim), each chunk contiguous.
    """

    loss: Tensor
    query: Tensor
    positive: Tensor
    negatives: Tensor
