"""Graph attention networks with dynamic attention (GATv2: Brody et al., ICLR 2022)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from marius_lite.errors import UserError
from marius_lite.nn.aggregate import native_usable
from marius_lite.nn.attention import Attention, attended
from marius_lite.nn.dropout import dropout
from marius_lite.nn.encoders.base import Block, Encoder
from marius_lite.nn.encoders.parameters import NEGATIVE_SLOPE, GatParameters
from marius_lite.nn.encoders.shape import EncoderShape
from marius_lite.nn.products import linear, unrounded


class Gat(Encoder):
    """Layers with the parameters of torch_geometric's GATv2Conv. Heads stand side by side; the last layer averages them."""

    def __init__(self, shape: EncoderShape) -> None:
        if shape.heads < 1 or any(width % shape.heads for width in shape.widths[:-1]):
            raise UserError(
                f"model.heads: found {shape.heads} for layers {list(shape.widths)}: "
                "at least 1, and it must divide the width of every layer but the last"
            )
        self.heads = shape.heads
        self._attention_dropout = shape.dropout
        super().__init__(shape)

    def _conv(self, in_width: int, out_width: int, last: bool) -> torch.nn.Module:
        width = out_width if last else out_width // self.heads
        return GatParameters(in_width, width, self.heads, concat=not last)

    def layer_bytes(self, layer: int, targets: int, sources: int, edges: int) -> int:
        width = self.widths[layer] * (self.heads if layer == len(self.widths) - 1 else 1)
        needed = super().layer_bytes(layer, targets, sources, edges) + 4 * width * (sources + 3 * targets)
        if next(self.parameters()).is_cuda:
            attended = edges + targets  # each target attends to itself as well
            needed += attended * (4 * 5 * width + 4 * 8 * self.heads + 64)
        return needed

    def _convolve(self, conv: Any, x: Tensor, block: Block, rectified: bool = False) -> Tensor:
        if not native_usable(x):
            heads = self._attended_by_torch(conv, x, block)
        else:
            maps = ((each.weight, each.bias) for each in (conv.lin_l, conv.lin_r))
            heads = attended(x, self._attention(conv, block), conv.att[0], *maps)
        if not conv.concat:
            heads = unrounded(heads).view(block.targets, self.heads, -1).mean(1)
        heads += conv.bias.to(heads.dtype)
        return heads.relu_() if rectified else heads

    def _attention(self, conv: Any, block: Block) -> Attention:
        kept = None
        if self.training and self._attention_dropout:
            places = len(block.indices) + block.targets
            kept = dropout(torch.ones(places, self.heads), self._attention_dropout)
        return Attention(block.indptr, block.indices, NEGATIVE_SLOPE, kept)

    def _attended_by_torch(self, conv: Any, x: Tensor, block: Block) -> Tensor:
        """Return what `attended` does, by operations of torch, with rows for each edge: on a GPU, and for other types."""
        sources, targets = block.edge_index()
        others = sources != targets  # each target attends to itself once, whatever loops there are
        itself = torch.arange(block.targets, device=x.device)
        sources, targets = torch.cat([sources[others], itself]), torch.cat([targets[others], itself])
        left, right = (
            unrounded(linear(rows, each.weight, each.bias)).view(len(rows), self.heads, -1)
            for rows, each in ((x, conv.lin_l), (x[: block.targets], conv.lin_r))
        )
        messages = left[sources]
        scores = (leaky_relu(messages + right[targets], NEGATIVE_SLOPE) * conv.att).sum(-1)
        most = scores.detach().new_full((block.targets, self.heads), -torch.inf)
        most = most.scatter_reduce(0, targets[:, None].expand_as(scores), scores.detach(), "amax")
        weights = (scores - most[targets]).exp()
        weights = weights / torch.zeros_like(most).index_add(0, targets, weights)[targets]
        if self.training and self._attention_dropout:
            weights = dropout(weights, self._attention_dropout)
        return torch.zeros_like(right).index_add(0, targets, messages * weights[..., None]).flatten(1)
