"""Prepare the rows that an encoder begins with: a node's features, then its learned numbers."""

from __future__ import annotations

import torch
from torch import Tensor


def normalized(x: Tensor, columns: int) -> Tensor:
    """Return rows x (n, width) with the first ``columns`` numbers, the features, divided by the sum of their magnitudes.

    The result is a new tensor, or ``x`` itself where ``columns`` is 0.
    """
    if not columns:
        return x
    features = x[:, :columns]
    scaled = features / features.abs().sum(1, keepdim=True).clamp_min(1e-12)
    return torch.cat([scaled, x[:, columns:]], 1) if columns < x.shape[1] else scaled
