"""Relational graph convolutional networks (Schlichtkrull et al., ESWC 2018)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from marius_lite.nn.aggregate import neighbour_sum, targets_of
from marius_lite.nn.encoders.base import Block, Encoder, geometric


class Rgcn(Encoder):
    """W_root itself + b + sum over relations r of W_r mean(neighbours by r), with the parameters of RGCNConv."""

    def __init__(self, in_width: int, widths: Sequence[int], *, dropout: float = 0.0, norm: str = "none",
                 residual: bool = False, relations: int = 1) -> None:
        self.relations = relations
        super().__init__(in_width, widths, dropout=dropout, norm=norm, residual=residual)

    def _conv(self, in_width: int, out_width: int, last: bool) -> torch.nn.Module:
        conv: torch.nn.Module = geometric().RGCNConv(in_width, out_width, self.relations)
        return conv

    def layer_bytes(self, layer: int, targets: int, sources: int, edges: int) -> int:
        inner, outer = (self.in_width, *self.widths)[layer : layer + 2]
        means = min(edges, targets)  # of one relation at a time
        return super().layer_bytes(layer, targets, sources, edges) + 4 * means * (inner + outer) + 80 * edges

    def _convolve(self, conv: Any, x: Tensor, block: Block) -> Tensor:
        out = torch.addmm(conv.bias, x[: block.targets], conv.root)
        groups = _Groups(block, self.relations)
        for rel, first, last in groups.relations:
            # Only the targets that a relation reaches, and one relation at a time: never (relations, targets, width).
            starts = groups.starts[first : last + 1]
            edges = groups.indices[int(starts[0]) : int(starts[-1])]
            mean = neighbour_sum(x, starts - starts[0], edges, mean=True)
            out = out.index_add(0, groups.targets[first:last], mean @ conv.weight[rel])
        return out


class _Groups:
    """A block's edges by relation, then target: group g holds ``indices[starts[g]:starts[g+1]]``, all into ``targets[g]``.

    ``relations``: (relation, first group, last group + 1) of each relation that occurs.
    """

    def __init__(self, block: Block, relations: int):
        rel = torch.zeros_like(block.indices) if block.rel is None else block.rel
        codes, order = torch.sort(rel.long() * block.targets + targets_of(block.indptr), stable=True)
        groups, sizes = torch.unique_consecutive(codes, return_counts=True)
        self.indices = block.indices[order]
        self.starts = pad(sizes.cumsum(0), (1, 0))
        self.targets = groups % block.targets
        bounds = torch.searchsorted(groups, torch.arange(relations + 1, device=groups.device) * block.targets).tolist()
        self.relations = [(rel, first, last) for rel, (first, last) in enumerate(itertools.pairwise(bounds)) if first < last]
