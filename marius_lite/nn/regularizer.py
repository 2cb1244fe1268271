"""The N3 regularizer (Lacroix et al., ICML 2018): the sum of the cubed absolute values in a batch's rows."""

from __future__ import annotations

import torch

from marius_lite.nn.decoders import Decoder


def add_n3_gradient(decoder: Decoder, values: torch.Tensor, weight: float, grad: torch.Tensor) -> None:
    """Add d (weight * sum of |x|^3) / d values = 3 * weight * |x| * x to ``grad``; both (..., dim)."""
    grad.addcmul_(decoder.modulus(values), values, value=3 * weight)
