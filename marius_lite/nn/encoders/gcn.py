"""Graph convolutional networks (Kipf and Welling, ICLR 2017), also as normalised by Cluster-GCN (Chiang et al., KDD 2019)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from marius_lite.nn.aggregate import neighbour_sum, targets_of
from marius_lite.nn.encoders.base import Block, Encoder, segment_sums
from marius_lite.nn.encoders.parameters import GcnParameters
from marius_lite.nn.encoders.sage import transform_first
from marius_lite.nn.encoders.shape import EncoderShape
from marius_lite.nn.mapped_sum import Neighbours, mapped_sum
from marius_lite.nn.products import linear


class Gcn(Encoder):
    """out_t = W (x_t / D_t + sum over neighbours s of x_s / sqrt(D_s D_t)) + b, with the parameters of torch_geometric's GCNConv.

    D is the in-degree in the whole graph without self-loops, plus 1 for the loop that GCN adds. The sum over sampled neighbours
    is multiplied by in-degree / sampled neighbours, so that its mean is the sum over all. Where edges have factors, each
    neighbour counts so many times, in the sum and in degrees.

    With ``gcn_norm`` row it is D^-1 (A + I) of the edges that a layer sees: W (x_t + sum of x_s) / D_t + b. D_t is one more than
    there are such neighbours. ``diagonal``, Cluster-GCN's lambda: the weight of x_t is multiplied by 1 + lambda.
    """

    degrees, gathers = True, 1

    def __init__(self, shape: EncoderShape) -> None:
        super().__init__(shape)
        self._weighs, self._own = shape.gcn_norm, 1 + shape.diagonal
        self._sums_by_degrees = shape.gcn_norm == "symmetric"
        self.degrees = self.asks_for_degrees = self._sums_by_degrees or shape.shown_degrees > 0

    def summed_width(self, layer: int) -> int | None:
        plain = self._weighs == "symmetric" and self._own == 1  # as `evaluate.summed_pass` sums
        return super().summed_width(layer) if plain else None

    def _conv(self, in_width: int, out_width: int, last: bool) -> torch.nn.Module:
        return GcnParameters(in_width, out_width)

    def _convolve(self, conv: Any, x: Tensor, block: Block, rectified: bool = False) -> Tensor:
        weight = conv.lin.weight
        if transform_first(x, block, weight):
            out = propagate(linear(x, weight), self._neighbours(block))
            out += conv.bias.to(out.dtype)
            return out.relu_() if rectified else out
        return mapped_sum(x, self._neighbours(block), *self._map(conv), rectified)

    def _neighbours(self, block: Block) -> Neighbours:
        found = normalised(block) if self._weighs == "symmetric" else averaged(block)
        assert found.own is not None
        return found if self._own == 1 else replace(found, own=found.own * self._own)

    def _map(self, conv: Any) -> tuple[Tensor, Tensor]:
        return conv.lin.weight, conv.bias

    def _early_maps(self, layer: int) -> list[tuple[Tensor, Tensor | None]]:
        conv: Any = self.convs[layer]
        return [(conv.lin.weight, None), *self._residual_map(layer)]

    def _joined(self, layer: int, sums: Tensor, rows: Tensor) -> Tensor:
        conv: Any = self.convs[layer]
        out: Tensor = sums + conv.bias
        return out


def propagate(x: Tensor, neighbours: Neighbours) -> Tensor:
    """Return the weighted sums: (targets, width) from x (sources, width)."""
    return neighbour_sum(x, neighbours.indptr, neighbours.indices, **neighbours.options)


def normalised(block: Block) -> Neighbours:
    """Return the weights of x_t / D_t + sum over neighbours s of x_s / sqrt(D_s D_t)."""
    if block.degrees is None:
        raise ValueError("GCN needs the true degrees of the sampled nodes")
    degrees = block.degrees if block.degrees.dim() == 1 else block.degrees.sum(1)
    targets, loops, counts = _seen(block)
    ends = degrees[: block.targets]
    drawn = counts.clamp(min=1) if block.factors is None else torch.where(counts > 0, counts, torch.inf)
    shares = ends / drawn * (ends + 1).rsqrt()
    weights = (degrees + 1).rsqrt()[block.indices] * shares[targets] * _counted(block, loops)
    return Neighbours(block.indptr, block.indices, weights, own=1 / (ends + 1))


def averaged(block: Block) -> Neighbours:
    """Return the weights of the mean of x_t and the neighbours that the block has, without self-loops."""
    targets, loops, counts = _seen(block)
    shares = 1 / (counts + 1).float()
    return Neighbours(block.indptr, block.indices, shares[targets] * _counted(block, loops), own=shares)


def _seen(block: Block) -> tuple[Tensor, Tensor, Tensor]:
    """Return the target of each edge, whether it is a self-loop, and of each target how many edges are none, or their factors."""
    targets = targets_of(block.indptr, len(block.indices))
    loops = block.indices == targets
    if block.factors is not None:
        return targets, loops, segment_sums(_counted(block, loops), block)
    counts = block.indptr.diff()
    if loops.is_cuda or loops.any():  # a GPU is not asked
        counts = counts.index_add(0, targets, -loops.to(counts.dtype))
    return targets, loops, counts


def _counted(block: Block, loops: Tensor) -> Tensor:
    """Return what each edge counts: nothing where it is a self-loop."""
    return ~loops if block.factors is None else block.factors * ~loops
