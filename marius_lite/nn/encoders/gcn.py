"""Graph convolutional networks (Kipf and Welling, ICLR 2017)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from marius_lite.nn.aggregate import neighbour_sum, targets_of
from marius_lite.nn.encoders.base import Block, Encoder, geometric
from marius_lite.nn.encoders.sage import transform_first
from marius_lite.nn.mapped_sum import Neighbours, mapped_sum
from marius_lite.nn.products import linear


class Gcn(Encoder):
    """out_t = W (x_t / D_t + sum over neighbours s of x_s / sqrt(D_s D_t)) + b, with the parameters of torch_geometric's GCNConv.

    D is the in-degree in the whole graph without self-loops, plus 1 for the loop that GCN adds. The sum over sampled neighbours
    is multiplied by in-degree / sampled neighbours, so that its mean is the sum over all.
    """

    degrees, gathers = True, 1

    def _conv(self, in_width: int, out_width: int, last: bool) -> torch.nn.Module:
        conv: torch.nn.Module = geometric().GCNConv(in_width, out_width)
        return conv

    def _convolve(self, conv: Any, x: Tensor, block: Block, rectified: bool = False) -> Tensor:
        weight = conv.lin.weight
        if transform_first(x, block, weight):
            out = propagate(linear(x, weight), block)
            out += conv.bias.to(out.dtype)
            return out.relu_() if rectified else out
        return mapped_sum(x, self._neighbours(block), *self._map(conv), rectified)

    def _neighbours(self, block: Block) -> Neighbours:
        return normalised(block)

    def _map(self, conv: Any) -> tuple[Tensor, Tensor]:
        return conv.lin.weight, conv.bias

    def _early_maps(self, layer: int) -> list[tuple[Tensor, Tensor | None]]:
        conv: Any = self.convs[layer]
        return [(conv.lin.weight, None), *self._residual_map(layer)]

    def _joined(self, layer: int, sums: Tensor, rows: Tensor) -> Tensor:
        conv: Any = self.convs[layer]
        out: Tensor = sums + conv.bias
        return out


def propagate(x: Tensor, block: Block) -> Tensor:
    """Return x_t / D_t + sum over neighbours s of x_s / sqrt(D_s D_t): (targets, width) from x (sources, width)."""
    neighbours = normalised(block)
    return neighbour_sum(x, neighbours.indptr, neighbours.indices, **neighbours.options)


def normalised(block: Block) -> Neighbours:
    """Return what `propagate` neighbours."""
    if block.degrees is None:
        raise ValueError("GCN needs the true degrees of the sampled nodes")
    targets = targets_of(block.indptr, len(block.indices))
    ends = block.degrees[: block.targets]
    counts = block.indptr.diff()
    loops = block.indices == targets
    if loops.any():
        counts = counts.index_add(0, targets[loops], counts.new_full((), -1).expand(int(loops.sum())))
    shares = ends / counts.clamp(min=1) * (ends + 1).rsqrt()
    weights = (block.degrees + 1).rsqrt()[block.indices] * shares[targets] * ~loops
    return Neighbours(block.indptr, block.indices, weights, own=1 / (ends + 1))
