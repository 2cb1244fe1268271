"""GraphSAGE (Hamilton et al., NeurIPS 2017) with mean aggregation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from marius_lite.nn.aggregate import neighbour_sum, targets_of
from marius_lite.nn.encoders.base import Block, Encoder, segment_sums
from marius_lite.nn.encoders.parameters import SageParameters
from marius_lite.nn.mapped_sum import Neighbours, mapped_sum
from marius_lite.nn.products import linear

NUMBERS_PER_READ = 12
"""How many multiplications take as long as reading one number of a neighbour's row."""


class Sage(Encoder):
    """out_t = W_l mean(neighbours) + b + W_r x_t, with the parameters of torch_geometric's SAGEConv.

    Where edges have factors, the mean is by these.
    """

    gathers = 2

    def _conv(self, in_width: int, out_width: int, last: bool) -> torch.nn.Module:
        return SageParameters(in_width, out_width)

    def _convolve(self, conv: Any, x: Tensor, block: Block, rectified: bool = False) -> Tensor:
        left, bias, right = conv.lin_l.weight, conv.lin_l.bias, conv.lin_r.weight
        if transform_first(x, block, left):
            itself = linear(x[: block.targets], right, bias)
            found = self._neighbours(block)
            out = itself + neighbour_sum(linear(x, left), found.indptr, found.indices, found.weights, found.mean)
            return out.relu_() if rectified else out
        return mapped_sum(x, self._neighbours(block), *self._map(conv), rectified)

    def _neighbours(self, block: Block) -> Neighbours:
        return replace(means(block), beside=True)

    def _map(self, conv: Any) -> tuple[Tensor, Tensor]:
        return torch.cat([conv.lin_l.weight, conv.lin_r.weight], 1), conv.lin_l.bias

    def _early_maps(self, layer: int) -> list[tuple[Tensor, Tensor | None]]:
        conv: Any = self.convs[layer]
        return [(conv.lin_l.weight, None), (conv.lin_r.weight, conv.lin_l.bias), *self._residual_map(layer)]

    def _joined(self, layer: int, sums: Tensor, rows: Tensor) -> Tensor:
        width = self.widths[layer]
        return sums + rows[:, width : 2 * width]


def means(block: Block) -> Neighbours:
    """Return the weights of the mean of each target's neighbours, by factors where edges have some."""
    if block.factors is None:
        return Neighbours(block.indptr, block.indices, mean=True)
    return Neighbours(block.indptr, block.indices, _shares(block, block.factors))


def _shares(block: Block, factors: Tensor) -> Tensor:
    """Return the share of each edge of what its target's edges count together; 0 where all of them count nothing."""
    totals = segment_sums(factors, block).clamp(min=torch.finfo(torch.float32).tiny)
    return factors / totals[targets_of(block.indptr, len(factors))]


def transform_first(x: Tensor, block: Block, weight: Tensor) -> bool:
    """Return whether it is cheaper to map every source by weight (out, in) and then sum, than to sum and then map every target.

    Where ``x`` needs no gradient, the sum of rows that are not mapped has no backward pass.
    """
    outer, inner = weight.shape
    reads = NUMBERS_PER_READ * len(block.indices)
    passes = 2 if x.requires_grad else 1
    products = inner * outer * (1 + passes)
    return len(x) * products + 2 * reads * outer < block.targets * products + passes * reads * inner
