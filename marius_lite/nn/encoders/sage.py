"""GraphSAGE (Hamilton et al., NeurIPS 2017) with mean aggregation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from marius_lite.nn.aggregate import neighbour_sum
from marius_lite.nn.encoders.base import Block, Encoder, geometric

NUMBERS_PER_READ = 16
"""Multiplications that take as long as fetching one number of a neighbour's row."""


class Sage(Encoder):
    """W_l mean(neighbours) + b + W_r itself, with the parameters of torch_geometric's SAGEConv."""

    def _conv(self, in_width: int, out_width: int, last: bool) -> torch.nn.Module:
        conv: torch.nn.Module = geometric().SAGEConv(in_width, out_width)
        return conv

    def _convolve(self, conv: Any, x: Tensor, block: Block) -> Tensor:
        out = linear(x[: block.targets], conv.lin_r.weight, conv.lin_l.bias)
        if transform_first(x, block, conv.lin_l.weight):
            return out + neighbour_sum(linear(x, conv.lin_l.weight), block.indptr, block.indices, mean=True)
        return out + linear(neighbour_sum(x, block.indptr, block.indices, mean=True), conv.lin_l.weight)


def transform_first(x: Tensor, block: Block, weight: Tensor) -> bool:
    """Whether weight (out, in) times every source, then the sum, costs less than the sum, then weight times every target.

    The sum of untransformed rows has no gradient to compute where ``x`` needs none.
    """
    outer, inner = weight.shape
    reads = NUMBERS_PER_READ * len(block.indices)
    passes = 2 if x.requires_grad else 1
    products = inner * outer * (1 + passes)
    return len(x) * products + 2 * reads * outer < block.targets * products + passes * reads * inner
