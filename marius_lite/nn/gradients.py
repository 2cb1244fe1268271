"""Gradients of tensors whose own gradients are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


class _Given(torch.autograd.Function):
    """A number whose gradient by ``output`` is ``grad``."""

    @staticmethod
    def forward(ctx: Any, output: Tensor, grad: Tensor) -> Tensor:
        ctx.grad = grad
        return output.new_empty(())

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> tuple[Tensor, None]:  # the gradient of the number, which is one
        return ctx.grad, None


def gradients(
    outputs: Sequence[Tensor],
    grads: Sequence[Tensor],
    inputs: Sequence[Tensor],
    allow_unused: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """Return the gradients of ``inputs``: `torch.autograd.grad` with the same options, and the same bits.

    Torch imports sympy as soon as it is told a gradient, to compare shapes that it may not know yet. That takes a second
    of every process and 40 MB, so on the CPU gradients are told by numbers that have them. A GPU would launch more.
    """
    given: Sequence[Tensor] | None = grads
    if not any(output.is_cuda for output in outputs):
        with torch.enable_grad():  # a caller that is inside a backward pass has it off
            outputs, given = [_number(output, grad) for output, grad in zip(outputs, grads, strict=True)], None
    return torch.autograd.grad(outputs, inputs, given, allow_unused=allow_unused, materialize_grads=materialize_grads)


def _number(output: Tensor, grad: Tensor) -> Tensor:
    number: Tensor = _Given.apply(output, grad)  # type: ignore[no-untyped-call]
    return number
