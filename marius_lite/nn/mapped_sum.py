"""Sum the rows of neighbours and map the sums linearly, as one step: nothing is kept but what the product takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from marius_lite.nn.aggregate import native_sum, native_sum_backward, native_usable, neighbour_sum, with_dense_rows
from marius_lite.nn.products import linear, mapped, mapped_backward, room_for


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What is summed for each target t: weights[e] * x[indices[e]] over its edges indptr[t]:indptr[t+1], or their ``mean``.

    ``own``: (targets,), what of its own row x[t] is added. ``beside``: whether its own row stands beside the sum, (2 d), too.
    ``weights`` and ``own`` are float32 and get no gradient.
    """

    indptr: Tensor
    indices: Tensor
    weights: Tensor | None = None
    mean: bool = False
    own: Tensor | None = None
    beside: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """What the native kernels take by name."""
        return {"weights": self.weights, "mean": self.mean, "own": self.own}


def mapped_sum(x: Tensor, neighbours: Neighbours, weight: Tensor, bias: Tensor, rectified: bool = False) -> Tensor:
    """Return (targets, out): the sums of rows x (sources, d) times the transpose of weight (out, d or 2 d), plus bias.

    ``rectified``: with 0 for what is below. Precision is that of `products.linear`.
    """
    if native_usable(x):
        out: Tensor = _MappedSum.apply(x, neighbours, weight, bias, rectified)  # type: ignore[no-untyped-call]
        return out
    rows = neighbour_sum(x, neighbours.indptr, neighbours.indices, **neighbours.options)
    mapped_rows = linear(torch.cat([rows, x[: len(rows)]], 1) if neighbours.beside else rows, weight, bias)
    return mapped_rows.relu() if rectified else mapped_rows


class _MappedSum(torch.autograd.Function):
    """Its backward pass goes over the gradient of the sources once."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, neighbours: Neighbours, weight: Tensor, bias: Tensor, rectified: bool) -> Tensor:
        targets, width = len(neighbours.indptr) - 1, x.shape[1]
        rows = room_for(x, targets, 2 * width if neighbours.beside else width)
        native_sum(with_dense_rows(x), neighbours.indptr, neighbours.indices, rows[:targets, :width], **neighbours.options)
        if neighbours.beside:
            rows[:targets, width:] = x[:targets]
        out = mapped(rows, targets, weight, bias, rectified)
        ctx.save_for_backward(rows, weight, out if rectified else None)
        ctx.neighbours, ctx.sources, ctx.width, ctx.dtype = neighbours, len(x), width, x.dtype
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight, rectified = ctx.saved_tensors
        neighbours, width = ctx.neighbours, ctx.width
        d_rows, d_weight, d_bias = mapped_backward(grad, rows, weight, ctx.needs_input_grad[0], rectified)
        d_x = None
        if d_rows is not None:
            d_x = d_rows.new_empty(ctx.sources, width)
            base = {"base": d_rows[:, width:]} if neighbours.beside else {}
            native_sum_backward(d_rows[:, :width], neighbours.indptr, neighbours.indices, d_x, **neighbours.options, **base)
            d_x = d_x.to(ctx.dtype)
        return d_x, None, d_weight, d_bias, None
