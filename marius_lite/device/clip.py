"""Clip gradients row by row, on any device."""

from __future__ import annotations

import torch


def clip_rows_(grads: torch.Tensor, most: float) -> None:
    """Scale each row of ``grads`` (u, dim) whose norm exceeds ``most`` down to that norm, in place."""
    norms = torch.linalg.vector_norm(grads, dim=1, keepdim=True)
    grads *= most / norms.clamp_min_(most)
