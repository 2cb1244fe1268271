"""Drop numbers at random. The masks follow from a seed alone, and take two random bytes a number."""

from __future__ import annotations

from typing import Any

import torch

from marius_lite.nn.workspace import Workspace

LEVELS = 1 << 16


def dropout(values: torch.Tensor, probability: float) -> torch.Tensor:
    """Do what torch.nn.functional.dropout does in training. Masks are drawn from torch's global generator.

    On CPUs it takes an eighth of torch's time, because it rounds the probability to a multiple of 2^-16.
    """
    if values.is_cuda:
        return torch.nn.functional.dropout(values, probability)
    out: torch.Tensor = _Dropped.apply(values, probability)  # type: ignore[no-untyped-call]
    return out


def kept_of(count: int, probability: float) -> torch.Tensor:
    """Return which of so many numbers are kept, bool (count,), on the CPU. It is drawn from torch's global generator."""
    bits = torch.empty(-(-count * 2 // 8), dtype=torch.int64).random_(-(1 << 63), None)
    kept: torch.Tensor = bits.view(torch.int16)[:count] >= round(probability * LEVELS) - LEVELS // 2
    return kept


class _Dropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, probability: float) -> torch.Tensor:
        dropped = round(probability * LEVELS)
        ctx.scale = LEVELS / (LEVELS - dropped) if dropped < LEVELS else 0.0
        ctx.kept = kept_of(values.numel(), probability).view(values.shape)
        kept_values: torch.Tensor = values * ctx.kept
        return kept_values.mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return (grad * ctx.kept).mul_(ctx.scale), None


class Dropout:
    """Sets numbers to zero with a probability and multiplies the others by 1 / (1 - probability).

    The probability is rounded to a multiple of 2^-16. The same seed of its `generator`, its device and the order of calls give
    the same masks.
    """

    def __init__(self, probability: float, workspace: Workspace):
        dropped = round(probability * LEVELS)
        self._active = dropped > 0
        self._threshold = dropped - LEVELS // 2
        self._scale = LEVELS / (LEVELS - dropped)
        self._workspace = workspace
        self._masks: dict[str, torch.Tensor] = {}
        self._generator: torch.Generator | None = None

    def generator(self, device: torch.device) -> torch.Generator:
        """Return what masks are drawn from, which is where the numbers are."""
        if self._generator is None or self._generator.device != device:
            self._generator = torch.Generator(device)
        return self._generator

    def __call__(self, name: str, values: torch.Tensor) -> torch.Tensor:
        """Return a copy of ``values`` with numbers dropped, or the values themselves at probability 0.

        The copy and its mask stay valid until ``name`` is used again.
        """
        if not self._active:
            return values
        shape, device = tuple(values.shape), values.device
        bits = self._workspace.tensor("dropout bits", (-(-values.numel() * 2 // 8),), device, torch.int64)
        bits.random_(-(1 << 63), None, generator=self.generator(device))
        mask = self._workspace.tensor(f"{name} mask", shape, device)
        torch.ge(bits.view(torch.int16)[: values.numel()].view(shape), self._threshold, out=mask)
        mask *= self._scale
        self._masks[name] = mask
        return torch.mul(values, mask, out=self._workspace.tensor(f"{name} dropped", shape, device))

    def backward_(self, name: str, grad: torch.Tensor) -> torch.Tensor:
        """Multiply the gradient of what was returned for ``name`` by its mask, in place."""
        if self._active:
            grad *= self._masks[name]
        return grad
