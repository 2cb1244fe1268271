"""Encoders: from the features of a sampled neighbourhood to vectors of its seeds, layer by layer."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from marius_lite.errors import UserError
from marius_lite.nn.aggregate import targets_of
from marius_lite.nn.dropout import dropout
from marius_lite.nn.encoders.shape import EncoderShape
from marius_lite.nn.geometric import without_geometric
from marius_lite.nn.products import linear

NORMS = ("none", "layer", "batch")


@dataclass(frozen=True, slots=True)
class Block:
    """The edges of one layer: target t receives from sources indices[indptr[t]:indptr[t+1]]; the targets are the first sources.

    ``indptr``: (targets + 1,) int64; ``indices``: (edges,) int32 or int64; ``rel``: (edges,) int64, None without relations;
    ``degrees``: (sources,) float32, the sources' true in-degrees (GCN alone asks for them).
    """

    indptr: Tensor
    indices: Tensor
    rel: Tensor | None = None
    degrees: Tensor | None = None

    @property
    def targets(self) -> int:
        return len(self.indptr) - 1

    def edge_index(self) -> Tensor:
        """PyG's (2, edges) int64: sources, then targets."""
        return torch.stack([self.indices.long(), targets_of(self.indptr, len(self.indices))])


@dataclass(frozen=True, slots=True)
class LayerGraph:
    """A sampled neighbourhood in PyG's order: nodes = [seeds | new at hop 1 | ...], those that were expanded a prefix.

    ``hop_nodes``: nodes of each hop, seeds first, hops + 1 of them; ``indptr``: (expanded + 1,) int64; ``indices``: (edges,)
    int32 or int64, local numbers; ``rel``: (edges,) int64 or None; ``degrees``: (nodes,) float32, true in-degrees, or None;
    ``hop_edges``: edges of the nodes of each hop, hops of them; without it, they are read off ``indptr``.
    """

    hop_nodes: tuple[int, ...]
    indptr: Tensor
    indices: Tensor
    rel: Tensor | None = None
    degrees: Tensor | None = None
    hop_edges: tuple[int, ...] | None = None

    @property
    def hops(self) -> int:
        return len(self.hop_nodes) - 1

    def nodes(self, hops: int) -> int:
        """How many nodes are within ``hops`` of the seeds."""
        return sum(self.hop_nodes[: hops + 1])

    def block(self, layer: int) -> Block:
        """The edges of layer 0, 1, ... of as many as there are hops: each layer drops the outermost hop."""
        hops = self.hops - layer
        targets = self.nodes(hops - 1)
        edges = sum(self.hop_edges[:hops]) if self.hop_edges is not None else int(self.indptr[targets])
        return Block(self.indptr[: targets + 1], self.indices[:edges], None if self.rel is None else self.rel[:edges],
                     None if self.degrees is None else self.degrees[: self.nodes(hops)])


class Layered(torch.nn.Module, ABC):
    """Layers that can be run one after the other over all nodes.

    ``in_width``: columns of the features; ``widths``: columns of each layer's result; ``degrees``: whether blocks must tell them.
    """

    in_width: int
    widths: tuple[int, ...]
    degrees = False

    @abstractmethod
    def layer(self, layer: int, x: Tensor, block: Block) -> Tensor:
        """One layer's result (targets, widths[layer]) from its sources' rows x (sources, width), activation included."""

    @abstractmethod
    def layer_bytes(self, layer: int, targets: int, sources: int, edges: int) -> int:
        """What `layer` takes at most, without gradients, besides its arguments."""

    def early_width(self, layer: int) -> int | None:
        """How many numbers `early` makes of a row, where that is fewer than the row has; else None."""
        return None

    def early(self, layer: int, x: Tensor) -> Tensor:
        """What a layer makes of single rows x (n, in) before any neighbour counts: (n, early_width)."""
        raise AssertionError(f"{type(self).__name__} has no maps to come first")

    def late(self, layer: int, x: Tensor, block: Block) -> Tensor:
        """`layer`'s result (targets, widths[layer]) from what `early` made of its sources' rows."""
        raise AssertionError(f"{type(self).__name__} has no maps to come first")


class Encoder(Layered):
    """A stack of graph convolutions; all but the last are followed by residual, norm, ReLU and dropout.

    The last of ``widths`` is that of the seeds' vectors. ``norm``: "none", "layer" (of each row) or "batch". ``residual`` adds
    each layer's input to its result, through a linear map where the widths differ. Parameters have the names of torch_geometric's
    models (convs.0.lin_l.weight, norms.0.weight, ...). Dropout draws from torch's global generator: seed it before a batch to
    draw the same masks again.
    """

    def __init__(self, shape: EncoderShape) -> None:
        super().__init__()
        in_width, widths = shape.in_width, tuple(shape.widths)
        if not widths or min(in_width, *widths) < 1:
            raise UserError(f"model.layers: found input width {in_width} and layers {list(widths)}: "
                            "at least one layer is needed, and no width below 1")
        self.in_width, self.widths = in_width, widths
        self.dropout = shape.dropout
        ends = list(itertools.pairwise([in_width, *widths]))
        self.convs = torch.nn.ModuleList(
            self._conv(inner, outer, last=layer == len(widths) - 1) for layer, (inner, outer) in enumerate(ends))
        self.norms = torch.nn.ModuleList(_norm(shape.norm, width) for width in widths[:-1])
        self.residuals = torch.nn.ModuleList(_skip(*each) for each in ends[:-1]) if shape.residual else None

    def forward(self, x: Tensor, graph: LayerGraph) -> Tensor:
        """(seeds, widths[-1]) from the features x (nodes, in_width) of ``graph``, sampled as deep as there are layers."""
        self._check_depth(graph)
        for layer in range(len(self.convs)):
            x = self.layer(layer, x[: graph.nodes(graph.hops - layer)], graph.block(layer))
        return x

    def layer(self, layer: int, x: Tensor, block: Block) -> Tensor:
        skip = self._residual(layer)
        return self._finished(layer, self._convolve(self.convs[layer], x, block), skip(x[: block.targets]) if skip else None)

    def early_width(self, layer: int) -> int | None:
        inner = (self.in_width, *self.widths)[layer]
        maps = self._early_maps(layer) if inner > self.widths[layer] else []
        width = sum(each.shape[0] for each, _ in maps)
        return width if maps and width < inner else None

    def early(self, layer: int, x: Tensor) -> Tensor:
        return torch.cat([linear(x, weight, bias) for weight, bias in self._early_maps(layer)], 1)

    def late(self, layer: int, x: Tensor, block: Block) -> Tensor:
        skipped = x[: block.targets, x.shape[1] - self.widths[layer]:] if self._residual(layer) else None
        return self._finished(layer, self._combine(layer, x, block), skipped)

    def _early_maps(self, layer: int) -> list[tuple[Tensor, Tensor | None]]:
        """(weight, bias) of each map of single rows, that of the residual last; empty where there is none to come first."""
        return []

    def _combine(self, layer: int, x: Tensor, block: Block) -> Tensor:
        """(targets, out) from the results of `_early_maps` side by side."""
        raise AssertionError(f"{type(self).__name__} has no maps to come first")

    def _residual(self, layer: int) -> torch.nn.Module | None:
        return self.residuals[layer] if self.residuals is not None and layer < len(self.convs) - 1 else None

    def _residual_map(self, layer: int) -> list[tuple[Tensor, Tensor | None]]:
        """The residual's, of a layer that has one; a width that stays the same needs no `early`."""
        skip = self._residual(layer)
        return [(skip.weight, None)] if isinstance(skip, torch.nn.Linear) else []

    def _finished(self, layer: int, out: Tensor, skipped: Tensor | None) -> Tensor:
        if layer == len(self.convs) - 1:
            return out
        if skipped is not None:
            out = out + skipped
        out = self.norms[layer](out).relu_()
        return dropout(out, self.dropout) if self.training and self.dropout else out

    def layer_bytes(self, layer: int, targets: int, sources: int, edges: int) -> int:
        inner, outer = (self.in_width, *self.widths)[layer : layer + 2]
        return 4 * (sources * outer + targets * (3 * inner + 4 * outer)) + 24 * edges

    def _check_depth(self, graph: LayerGraph) -> None:
        if graph.hops != len(self.convs):
            raise ValueError(f"a graph of {graph.hops} hops for an encoder of {len(self.convs)} layers")

    @abstractmethod
    def _conv(self, in_width: int, out_width: int, last: bool) -> torch.nn.Module:
        """The torch_geometric layer that holds the parameters."""

    @abstractmethod
    def _convolve(self, conv: Any, x: Tensor, block: Block) -> Tensor:
        """(targets, out), a new tensor, from x (sources, in)."""


def geometric() -> ModuleType:
    """torch_geometric.nn, or a UserError that says how to install it."""
    try:
        import torch_geometric.nn
    except ImportError as error:
        raise without_geometric(error) from error
    module: ModuleType = torch_geometric.nn
    return module


def _norm(name: str, width: int) -> torch.nn.Module:
    if name == "none":
        return torch.nn.Identity()
    if name == "layer":
        norm: torch.nn.Module = geometric().LayerNorm(width, mode="node")
        return norm
    if name == "batch":
        norm = geometric().BatchNorm(width)
        return norm
    raise UserError(f"model.norm: found {name!r}, allowed are {', '.join(NORMS)}")


def _skip(in_width: int, out_width: int) -> torch.nn.Module:
    return torch.nn.Identity() if in_width == out_width else torch.nn.Linear(in_width, out_width, bias=False)
