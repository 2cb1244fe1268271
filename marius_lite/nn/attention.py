"""The attention of GATv2 with its linear maps, natively: no array has a row for each edge, neither forward nor backward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

import marius_lite._native as _native
from marius_lite.nn.aggregate import array_of
from marius_lite.nn.products import mapped, recurring_rows, room_for, rows_for_products, weight_gradients


@dataclass(frozen=True, slots=True)
class Attention:
    """What each target attends to: the sources indices[indptr[t]:indptr[t+1]] but itself, and then itself.

    ``slope``: of what is below 0, before scores. ``kept``: (edges + targets, heads) float32, what weights are multiplied by.
    """

    indptr: Tensor
    indices: Tensor
    slope: float
    kept: Tensor | None = None

    @property
    def targets(self) -> int:
        """How many targets there are, which are the first sources."""
        return len(self.indptr) - 1


def attended(
    x: Tensor, attention: Attention, vector: Tensor, left: tuple[Tensor, Tensor], right: tuple[Tensor, Tensor]
) -> Tensor:
    """Return (targets, heads * d), the heads side by side, from rows x (sources, in) on the CPU.

    ``left``, ``right``: (weight, bias) of the maps of sources and targets. ``vector``: (heads, d), what makes scores. Precision
    is that of `products.linear`.
    """
    out: Tensor = _Attended.apply(x, attention, vector, *left, *right)  # type: ignore[no-untyped-call]
    return out


class _Attended(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, attention: Attention, vector: Tensor, *maps: Tensor) -> Tensor:
        left_weight, left_bias, right_weight, right_bias = maps
        rows = rows_for_products(x)
        left = mapped(rows, len(x), left_weight, left_bias)
        right = mapped(_first(rows, attention.targets), attention.targets, right_weight, right_bias)
        out = torch.empty_like(right)
        places = len(attention.indices) + attention.targets
        weights = torch.empty(places, len(vector)) if any(ctx.needs_input_grad) else None
        _native.attend(
            *_arrays(left, right, attention), array_of(vector), attention.slope, array_of(out), **_given(attention, weights)
        )
        ctx.save_for_backward(rows, left, right, weights, vector, left_weight, right_weight)
        ctx.attention, ctx.dtype = attention, x.dtype
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        rows, left, right, weights, vector, left_weight, right_weight = ctx.saved_tensors
        attention: Attention = ctx.attention
        sources, targets, dim = len(left), len(right), left.shape[1]
        d_left, d_right, d_vector = room_for(left, sources, dim), room_for(left, targets, dim), torch.empty_like(vector)
        grad = grad.to(left.dtype).contiguous()
        _native.attend_backward(
            *_arrays(left, right, attention),
            array_of(vector),
            attention.slope,
            array_of(grad),
            array_of(weights),
            array_of(d_left[:sources]),
            array_of(d_right[:targets]),
            array_of(d_vector),
            **_given(attention),
        )
        d_x = None
        if ctx.needs_input_grad[0]:
            d_x = mapped(d_left, sources, left_weight.T)
            d_x[:targets] += mapped(d_right, targets, right_weight.T)
            d_x = d_x.to(ctx.dtype)
        of_left = weight_gradients(d_left, rows)
        of_right = weight_gradients(d_right, _first(rows, targets))
        return d_x, None, d_vector, *of_left, *of_right


def _arrays(left: Tensor, right: Tensor, attention: Attention) -> tuple[Any, Any, Any, Any]:
    return array_of(left), array_of(right), array_of(attention.indptr), array_of(attention.indices)


def _given(attention: Attention, weights: Tensor | None = None) -> dict[str, Any]:
    given = {"kept": attention.kept, "weights": weights}
    return {name: array_of(tensor) for name, tensor in given.items() if tensor is not None}


def _first(rows: Tensor, count: int) -> Tensor:
    """Return the first rows, as many as an operand of ``count`` rows has. Those behind meet rows of 0."""
    return rows[: recurring_rows(count)]
