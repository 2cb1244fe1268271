"""Relational graph convolutional networks (Schlichtkrull et al., ESWC 2018)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from marius_lite.nn.aggregate import neighbour_sum, targets_of
from marius_lite.nn.encoders.base import Block, Encoder
from marius_lite.nn.encoders.parameters import RgcnParameters
from marius_lite.nn.encoders.shape import EncoderShape
from marius_lite.nn.products import linear


class Rgcn(Encoder):
    """out_t = W_root x_t + b + sum over relations r of W_r mean(neighbours by r), with the parameters of RGCNConv."""

    def __init__(self, shape: EncoderShape) -> None:
        self.relations = shape.relations
        super().__init__(shape)

    def _conv(self, in_width: int, out_width: int, last: bool) -> torch.nn.Module:
        conv = RgcnParameters(in_width, out_width, self.relations)
        with torch.no_grad():  # a sum over relations is else larger than what it is made of, layer after layer
            conv.weight.div_(self.relations**0.5)
        return conv

    def layer_bytes(self, layer: int, targets: int, sources: int, edges: int) -> int:
        inner, outer = (self.in_width, *self.widths)[layer : layer + 2]
        groups = min(edges, targets * self.relations)
        return super().layer_bytes(layer, targets, sources, edges) + 4 * groups * (inner + 2 * outer) + 100 * edges

    def _convolve(self, conv: Any, x: Tensor, block: Block, rectified: bool = False) -> Tensor:
        itself = linear(x[: block.targets], conv.root.T, conv.bias)
        if not len(block.indices):
            return itself.relu_() if rectified else itself
        groups = _Groups(block, self.relations)
        means = neighbour_sum(x, groups.starts, groups.indices, mean=True)
        weights = conv.weight.transpose(1, 2).contiguous().unbind(0)
        parts = zip(torch.split(means, groups.sizes), weights)
        messages = torch.cat([linear(mean, weight) for mean, weight in parts if len(mean)])
        out = itself + neighbour_sum(messages, groups.into, groups.order)
        return out.relu_() if rectified else out


class _Groups:
    """A block's edges, grouped by relation and target. Group g has the sources ``indices[starts[g]:starts[g+1]]``.

    Groups are in the order of relations, then of targets. ``sizes``: how many groups each relation has. ``into``, ``order``: the
    groups of target t are order[into[t]:into[t+1]].
    """

    def __init__(self, block: Block, relations: int):
        rel = torch.zeros_like(block.indices) if block.rel is None else block.rel
        codes, edges = torch.sort(rel.long() * block.targets + targets_of(block.indptr, len(block.indices)), stable=True)
        groups, counts = torch.unique_consecutive(codes, return_counts=True)
        self.indices = block.indices[edges]
        self.starts = pad(counts.cumsum(0), (1, 0))
        bounds = torch.arange(relations + 1, device=groups.device) * block.targets
        self.sizes = torch.searchsorted(groups, bounds).diff().tolist()
        targets = groups % block.targets
        self.order = torch.argsort(targets, stable=True)
        self.into = pad(targets.bincount(minlength=block.targets).cumsum(0), (1, 0))
