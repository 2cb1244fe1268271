"""GraphSAGE (Hamilton et al., NeurIPS 2017) with mean aggregation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from marius_lite.nn.aggregate import native_sum, native_sum_backward, native_usable, neighbour_sum, with_dense_rows
from marius_lite.nn.encoders.base import Block, Encoder, geometric
from marius_lite.nn.products import linear, onednn_linear, onednn_usable, recurring_rows, summed_over_rows

NUMBERS_PER_READ = 12
"""How many multiplications take as long as reading one number of a neighbour's row."""


class Sage(Encoder):
    """out_t = W_l mean(neighbours) + b + W_r x_t, with the parameters of torch_geometric's SAGEConv."""

    def _conv(self, in_width: int, out_width: int, last: bool) -> torch.nn.Module:
        conv: torch.nn.Module = geometric().SAGEConv(in_width, out_width)
        return conv

    def _convolve(self, conv: Any, x: Tensor, block: Block) -> Tensor:
        left, bias, right = conv.lin_l.weight, conv.lin_l.bias, conv.lin_r.weight
        if transform_first(x, block, left):
            itself = linear(x[: block.targets], right, bias)
            return itself + neighbour_sum(linear(x, left), block.indptr, block.indices, mean=True)
        weight = torch.cat([left, right], 1)
        if native_usable(x) and onednn_usable():
            out: Tensor = _MeanThenLinear.apply(x, weight, bias, block.indptr, block.indices)  # type: ignore[no-untyped-call]
            return out
        mean = neighbour_sum(x, block.indptr, block.indices, mean=True)
        return linear(torch.cat([mean, x[: block.targets]], 1), weight, bias)

    def _early_maps(self, layer: int) -> list[tuple[Tensor, Tensor | None]]:
        conv: Any = self.convs[layer]
        return [(conv.lin_l.weight, None), (conv.lin_r.weight, conv.lin_l.bias), *self._residual_map(layer)]

    def _combine(self, layer: int, x: Tensor, block: Block) -> Tensor:
        width = self.widths[layer]
        mean = neighbour_sum(x[:, :width].contiguous(), block.indptr, block.indices, mean=True)
        return mean + x[: block.targets, width : 2 * width]


def transform_first(x: Tensor, block: Block, weight: Tensor) -> bool:
    """Return whether it is cheaper to map every source by weight (out, in) and then sum, than to sum and then map every target.

    Where ``x`` needs no gradient, the sum of rows that are not mapped has no backward pass.
    """
    outer, inner = weight.shape
    reads = NUMBERS_PER_READ * len(block.indices)
    passes = 2 if x.requires_grad else 1
    products = inner * outer * (1 + passes)
    return len(x) * products + 2 * reads * outer < block.targets * products + passes * reads * inner


class _MeanThenLinear(torch.autograd.Function):
    """Maps [mean of the neighbours | the target itself] (targets, 2 in) by one product. Its backward pass goes over the sources'
    gradient once."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, indptr: Tensor, indices: Tensor) -> Tensor:
        targets, width = len(indptr) - 1, x.shape[1]
        padded = x.new_empty(recurring_rows(targets), 2 * width)
        both = padded[:targets]
        native_sum(with_dense_rows(x), indptr, indices, both[:, :width], mean=True)
        both[:, width:] = x[:targets]
        padded[targets:] = 0
        ctx.save_for_backward(both, weight, indptr, indices)
        ctx.sources = len(x)
        return onednn_linear(padded, weight, bias).resize_(targets, len(weight))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        both, weight, indptr, indices = ctx.saved_tensors
        grad = grad.contiguous()
        d_x = None
        if ctx.needs_input_grad[0]:
            width = weight.shape[1] // 2
            d_both = onednn_linear(grad, weight.T)
            d_x = grad.new_empty(ctx.sources, width)
            native_sum_backward(d_both[:, :width], indptr, indices, d_x, mean=True, base=d_both[:, width:])
        return d_x, summed_over_rows(grad, both), grad.sum(0), None, None
