"""Gradient clipping by rows, on any device."""

from __future__ import annotations

import torch


def clip_rows_(grads: torch.Tensor, most: float) -> None:
    """Scale the rows of (u, dim) gradients whose norm exceeds ``most`` down to it, in place."""
    norms = torch.linalg.vector_norm(grads, dim=1, keepdim=True)
    grads *= most / norms.clamp_min_(most)
