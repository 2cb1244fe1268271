"""RotatE (Sun et al., ICLR 2019): a relation rotates each complex number of a source to that of its destination."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from marius_lite.nn.decoders.base import Decoder, EdgeContext, unit_draw
from marius_lite.nn.decoders.complex import complex_product
from marius_lite.nn.decoders.draw import Draw


class RotatE(Decoder):
    """score = -sum over k < dim / 2 of |src_k * exp(i rel_k) - dst_k|. A relation has dim / 2 phases."""

    similarity = "complex_l2"

    @classmethod
    def relation_dim(cls, dim: int) -> int:
        return dim // 2

    def query(self, entity: torch.Tensor, context: EdgeContext, side: int) -> torch.Tensor:
        if entity.is_cuda:
            out: torch.Tensor = _Rotation.apply(entity, context.relation, side == 1)  # type: ignore[no-untyped-call]
            return out
        turn = torch.cat([context.relation.cos(), context.relation.sin()], -1)
        return complex_product(entity, turn, conjugate=side == 1)

    @classmethod
    def node_draw(cls, dim: int) -> Draw:
        return unit_draw(dim)

    @classmethod
    def relation_draw(cls, dim: int) -> Draw:
        return Draw("uniform", math.pi)


class _Rotation(torch.autograd.Function):
    """Complex numbers (n, dim), rotated by phases (n, dim / 2), or back. As few calls as a GPU needs, in both directions."""

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, phases: torch.Tensor, back: bool) -> torch.Tensor:
        turn = values.new_empty((len(phases), 2 * phases.shape[1]))
        for part, function in zip(turn.chunk(2, -1), (torch.cos, torch.sin), strict=True):
            function(phases, out=part)
        rotated = complex_product(values, turn, conjugate=back)
        ctx.save_for_backward(turn, rotated)
        ctx.back = bool(back)
        return rotated

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        """Rotate the gradients back. What a phase changes is rotated by a right angle: from (real, imaginary) to
        (-imaginary, real)."""
        turn, rotated = ctx.saved_tensors
        (real, imaginary), (d_real, d_imaginary) = (each.chunk(2, -1) for each in (rotated, grad))
        first, second = ((imaginary, d_real), (real, d_imaginary)) if ctx.back else ((real, d_imaginary), (imaginary, d_real))
        d_phases = torch.mul(*first).addcmul_(*second, value=-1)
        return complex_product(grad, turn, conjugate=not ctx.back), d_phases, None
