"""The base of encoders, which turn the input rows of a sampled neighbourhood into vectors of its seeds, layer by layer."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from marius_lite.errors import UserError
from marius_lite.nn.aggregate import neighbour_sum, targets_of
from marius_lite.nn.dropout import dropout
from marius_lite.nn.encoders.parameters import BatchNorm
from marius_lite.nn.encoders.shape import EncoderShape
from marius_lite.nn.mapped_sum import Neighbours
from marius_lite.nn.products import linear, unrounded

NORMS = ("none", "layer", "batch")


@dataclass(frozen=True, slots=True)
class Block:
    """The edges of one layer. Target t has the sources indices[indptr[t]:indptr[t+1]]. The first sources are the targets.

    ``indptr``: (targets + 1,) int64. ``indices``: (edges,) int32 or int64. ``rel``: (edges,) int64, None without relations.
    ``degrees``: (sources,) float32, the sources' in-degrees in the whole graph, where they are asked for. ``factors``: (edges,)
    float32, what each edge counts; None where all count alike. Degrees are then sums of factors.
    """

    indptr: Tensor
    indices: Tensor
    rel: Tensor | None = None
    degrees: Tensor | None = None
    factors: Tensor | None = None

    @property
    def targets(self) -> int:
        """How many targets there are."""
        return len(self.indptr) - 1

    def edge_index(self) -> Tensor:
        """Return the edges as PyTorch Geometric takes them, (2, edges) int64: sources, then targets."""
        return torch.stack([self.indices.long(), targets_of(self.indptr, len(self.indices))])


@dataclass(frozen=True, slots=True)
class LayerGraph:
    """A sampled neighbourhood, in the order of PyTorch Geometric: first the seeds, then the new nodes of hop 1, 2, ...

    The nodes of all hops but the last are expanded: their in-edges are sampled. ``hop_nodes``: how many nodes each hop has, hops
    + 1 numbers. ``indptr``: (expanded + 1,) int64. ``indices``: (edges,) int32 or int64, places of the sources in this order.
    ``rel``: (edges,) int64, or None. ``degrees``: (nodes,) float32, in-degrees in the whole graph; (nodes, 2), those at
    either end; or None. ``hop_edges``: how many edges the nodes of each hop have; without it they are counted from ``indptr``.
    ``factors``: (edges,) float32, or None, see `Block`.
    """

    hop_nodes: tuple[int, ...]
    indptr: Tensor
    indices: Tensor
    rel: Tensor | None = None
    degrees: Tensor | None = None
    hop_edges: tuple[int, ...] | None = None
    factors: Tensor | None = None

    @property
    def hops(self) -> int:
        """How many hops there are, the seeds not counted."""
        return len(self.hop_nodes) - 1

    def nodes(self, hops: int) -> int:
        """Return how many nodes are within ``hops`` of the seeds."""
        return sum(self.hop_nodes[: hops + 1])

    def block(self, layer: int) -> Block:
        """Return the edges of a layer, from 0. There are as many layers as hops. Each layer drops the outermost hop."""
        hops = self.hops - layer
        targets = self.nodes(hops - 1)
        edges = sum(self.hop_edges[:hops]) if self.hop_edges is not None else int(self.indptr[targets])
        return Block(
            self.indptr[: targets + 1],
            self.indices[:edges],
            None if self.rel is None else self.rel[:edges],
            None if self.degrees is None else self.degrees[: self.nodes(hops)],
            None if self.factors is None else self.factors[:edges],
        )

    def whole(self) -> Block:
        """Return all edges, where each node is a target and a source. Those of the last hop have no edges."""
        last = self.indptr[-1:].expand(self.hop_nodes[-1])
        return Block(torch.cat([self.indptr, last]), self.indices, self.rel, self.degrees, self.factors)


def segment_sums(values: Tensor, block: Block) -> Tensor:
    """Return the sum of ``values`` (edges,), float32, over the edges of each target, (targets,), in order of the edges."""
    ones = values.new_ones(1, 1)
    return neighbour_sum(ones, block.indptr, torch.zeros_like(block.indices), values)[:, 0]


class Layered(torch.nn.Module, ABC):
    """Layers that can be run one after the other over all nodes.

    ``in_width``: numbers of a node in the input. ``widths``: numbers of a node in the result of each layer. ``degrees``: whether
    blocks must have degrees.

    Some layers map single rows before they look at neighbours. `early` is that part and `late` the rest of the layer. Where the
    map makes rows narrower, all rows can be mapped first, so that less is kept.
    """

    in_width: int
    widths: tuple[int, ...]
    degrees = False

    @abstractmethod
    def layer(self, layer: int, x: Tensor, block: Block) -> Tensor:
        """Return the result of a layer, (targets, widths[layer]), from rows x (sources, width). It includes the activation."""

    @abstractmethod
    def layer_bytes(self, layer: int, targets: int, sources: int, edges: int) -> int:
        """Return the bytes that `layer` takes at most, without gradients and without its arguments."""

    def summed_width(self, layer: int) -> int | None:
        """Return how many of a row's first numbers a layer only sums over neighbours; None for a layer that does more with them.

        Their mean is taken, or, with ``degrees``, GCN's normalised sum, without self-loops but with the node's own row. Rows are
        those of `early`, where it makes them narrower.
        """
        return None

    def combined(self, layer: int, sums: Tensor, rows: Tensor) -> Tensor:
        """Return the result of a layer from the sums (n, summed_width) of nodes and their own rows (n, width)."""
        raise AssertionError(f"{type(self).__name__} does more than sum")

    def early_width(self, layer: int) -> int | None:
        """Return how many numbers `early` makes of a row. None where these are not fewer than the row has."""
        return None

    def early(self, layer: int, x: Tensor) -> Tensor:
        """Return what a layer makes of single rows x (n, in) before it looks at neighbours: (n, early_width)."""
        raise AssertionError(f"{type(self).__name__} has no maps to come first")

    def late(self, layer: int, x: Tensor, block: Block) -> Tensor:
        """Return the result of `layer`, (targets, widths[layer]), from what `early` made of the sources' rows."""
        raise AssertionError(f"{type(self).__name__} has no maps to come first")


class Encoder(Layered):
    """A stack of graph convolutions. After each but the last come residual, norm, ReLU and dropout.

    ``asks_for_degrees``: whether samples must tell true in-degrees. ``gathers``: how many numbers a layer takes from neighbours
    for each number of its input, where it maps them only afterwards; 0 where it does not. A residual passes a linear map where
    the widths differ. Where the shape has a ``degree_unit``, the first layer sees a number or two more, see `with_degrees`.
    Parameters have the names of torch_geometric's models (convs.0.lin_l.weight, norms.0.weight, ...). Dropout draws from
    torch's global generator: seed it before a batch to draw the same masks again.
    """

    gathers = 0

    def __init__(self, shape: EncoderShape) -> None:
        super().__init__()
        in_width, widths = shape.in_width, tuple(shape.widths)
        if not widths or min(in_width, *widths) < 1:
            raise UserError(
                f"model.layers: found input width {in_width} and layers {list(widths)}: "
                "at least one layer is needed, and no width below 1"
            )
        self.in_width, self.widths = in_width, widths
        self._degree_unit, self._shown_degrees, self._sums_by_degrees = shape.degree_unit, shape.shown_degrees, self.degrees
        self.degrees = self.asks_for_degrees = self.degrees or shape.shown_degrees > 0
        self.dropout = shape.dropout
        ends = list(itertools.pairwise([in_width + shape.shown_degrees, *widths]))
        self.convs = torch.nn.ModuleList(
            self._conv(inner, outer, last=layer == len(widths) - 1) for layer, (inner, outer) in enumerate(ends)
        )
        self.norms = torch.nn.ModuleList(norm_of(shape.norm, width) for width in widths[:-1])
        self.residuals = torch.nn.ModuleList(_skip(*each) for each in ends[:-1]) if shape.residual else None

    def forward(self, x: Tensor, graph: LayerGraph) -> Tensor:
        """Return the seeds' vectors (seeds, widths[-1]) from the input rows x (nodes, in_width) of ``graph``.

        ``graph`` must have as many hops as there are layers, else ValueError.
        """
        self._check_depth(graph)
        for layer in range(len(self.convs)):
            sources = graph.nodes(graph.hops - layer)  # a slice of everything would copy its gradient
            x = self.layer(layer, x if len(x) == sources else x[:sources], graph.block(layer))
        return unrounded(x)

    def layer(self, layer: int, x: Tensor, block: Block) -> Tensor:
        if self._sees_degrees(layer):
            x = with_degrees(x, block, self._degree_unit)
        skipped = self._skipped(layer, x[: block.targets])
        rectified = skipped is None and layer < len(self.convs) - 1 and isinstance(self.norms[layer], torch.nn.Identity)
        return self._finished(layer, self._convolve(self.convs[layer], x, block, rectified), skipped, rectified)

    def _sees_degrees(self, layer: int) -> bool:
        return layer == 0 and self._shown_degrees > 0

    def gathered_width(self, layer: int) -> int:
        """Return how many numbers `gathered` gives for a target."""
        return self.gathers * (self.in_width, *self.widths)[layer]

    def gathered(self, layer: int, x: Tensor, block: Block) -> Tensor:
        """Return what the targets take from rows x (sources, width) before a layer's weights: (targets, gathered_width)."""
        neighbours = self._neighbours(block)
        summed = neighbour_sum(x, neighbours.indptr, neighbours.indices, **neighbours.options)
        return self.with_own(summed, x[: block.targets])

    def with_own(self, sums: Tensor, rows: Tensor) -> Tensor:
        """Return what `gathered` does, from sums of neighbours and the targets' own rows."""
        return torch.cat([sums, rows], 1) if self.gathers == 2 else sums

    def mapped(self, layer: int, rows: Tensor) -> Tensor:
        """Return the result of a layer from what `gathered` gave, (n, gathered_width). There must be no residual."""
        return unrounded(self._finished(layer, linear(rows, *self._map(self.convs[layer])), None))

    def summed_width(self, layer: int) -> int | None:
        if not self.gathers or self._sees_degrees(layer) or self.degrees != self._sums_by_degrees:
            return None
        return (self.in_width, *self.widths)[layer] if self.early_width(layer) is None else self.widths[layer]

    def combined(self, layer: int, sums: Tensor, rows: Tensor) -> Tensor:
        if self.early_width(layer) is None:
            out, skipped = linear(self.with_own(sums, rows), *self._map(self.convs[layer])), self._skipped(layer, rows)
        else:
            out, skipped = self._joined(layer, sums, rows), self._early_skipped(layer, rows)
        return unrounded(self._finished(layer, out, skipped))

    def early_width(self, layer: int) -> int | None:
        if self._sees_degrees(layer):
            return None
        inner = (self.in_width, *self.widths)[layer]
        maps = self._early_maps(layer) if inner > self.widths[layer] else []
        width = sum(each.shape[0] for each, _ in maps)
        return width if maps and width < inner else None

    def early(self, layer: int, x: Tensor) -> Tensor:
        return torch.cat([linear(x, weight, bias) for weight, bias in self._early_maps(layer)], 1)

    def late(self, layer: int, x: Tensor, block: Block) -> Tensor:
        return self._finished(layer, self._combine(layer, x, block), self._early_skipped(layer, x[: block.targets]))

    def _early_maps(self, layer: int) -> list[tuple[Tensor, Tensor | None]]:
        """Return (weight, bias) of each map of single rows, that of the residual last. Empty where no map comes first."""
        return []

    def _combine(self, layer: int, x: Tensor, block: Block) -> Tensor:
        """Return (targets, out) from the results of `_early_maps`, which are side by side in ``x``."""
        neighbours, width = self._neighbours(block), self.widths[layer]
        sums = neighbour_sum(x[:, :width].contiguous(), neighbours.indptr, neighbours.indices, **neighbours.options)
        return self._joined(layer, sums, x[: block.targets])

    def _joined(self, layer: int, sums: Tensor, rows: Tensor) -> Tensor:
        """Return (targets, out) from the summed results of the first of `_early_maps`, and the targets' own of all of them."""
        raise AssertionError(f"{type(self).__name__} has no maps to come first")

    def _neighbours(self, block: Block) -> Neighbours:
        """Return what `gathered` sums."""
        raise AssertionError(f"{type(self).__name__} maps before it gathers")

    def _map(self, conv: Any) -> tuple[Tensor, Tensor]:
        """Return the weight (out, gathered_width) and the bias of a layer's map."""
        raise AssertionError(f"{type(self).__name__} maps before it gathers")

    def _residual(self, layer: int) -> torch.nn.Module | None:
        return self.residuals[layer] if self.residuals is not None and layer < len(self.convs) - 1 else None

    def _skipped(self, layer: int, rows: Tensor) -> Tensor | None:
        """Return what a residual adds to the results of nodes with these input rows; None where there is none."""
        if self._residual(layer) is None:
            return None
        for weight, bias in self._residual_map(layer):
            rows = linear(rows, weight, bias)
        return rows

    def _early_skipped(self, layer: int, rows: Tensor) -> Tensor | None:
        """Return the same from rows that `early` gave."""
        return rows[:, rows.shape[1] - self.widths[layer] :] if self._residual(layer) is not None else None

    def _residual_map(self, layer: int) -> list[tuple[Tensor, Tensor | None]]:
        """Return the map of a layer's residual, if it has one. Where the width stays the same there is none."""
        skip = self._residual(layer)
        return [(skip.weight, None)] if isinstance(skip, torch.nn.Linear) else []

    def _finished(self, layer: int, out: Tensor, skipped: Tensor | None, rectified: bool = False) -> Tensor:
        if layer == len(self.convs) - 1:
            return out
        if skipped is not None:
            out = out + skipped
        norm = self.norms[layer]
        if not isinstance(norm, torch.nn.Identity):
            out = norm(unrounded(out))
        out = out if rectified else out.relu_()
        return dropout(out, self.dropout) if self.training and self.dropout else out

    def layer_bytes(self, layer: int, targets: int, sources: int, edges: int) -> int:
        inner, outer = (self.in_width, *self.widths)[layer : layer + 2]
        copied = inner + self._shown_degrees if self._sees_degrees(layer) else 0  # rows with numbers more
        inner = max(inner, copied)
        return 4 * (sources * (copied + outer) + targets * (3 * inner + 4 * outer)) + 24 * edges

    def _check_depth(self, graph: LayerGraph) -> None:
        if graph.hops != len(self.convs):
            raise ValueError(f"a graph of {graph.hops} hops for an encoder of {len(self.convs)} layers")

    @abstractmethod
    def _conv(self, in_width: int, out_width: int, last: bool) -> torch.nn.Module:
        """Make what a layer learns."""

    @abstractmethod
    def _convolve(self, conv: Any, x: Tensor, block: Block, rectified: bool = False) -> Tensor:
        """Return (targets, out), a new tensor, from x (sources, in); ``rectified``: with 0 for what is below."""


def with_degrees(x: Tensor, block: Block, unit: float) -> Tensor:
    """Return rows x (sources, width) with log((1 + neighbours in the whole graph) / (1 + unit)) beside each, or that of those at
    either end of edges."""
    if block.degrees is None:
        raise ValueError("the true degrees of the sampled nodes are needed")
    seen = ((block.degrees[: len(x)].reshape(len(x), -1) + 1) / (unit + 1)).log()
    return torch.cat([x, seen.to(x.dtype)], 1)


def norm_of(name: str, width: int) -> torch.nn.Module:
    """Return a norm of rows with ``width`` numbers. Raises UserError for a name that is none of ``NORMS``."""
    if name == "none":
        return torch.nn.Identity()
    if name == "layer":
        return torch.nn.LayerNorm(width)
    if name == "batch":
        return BatchNorm(width)
    raise UserError(f"model.norm: found {name!r}, allowed are {', '.join(NORMS)}")


def _skip(in_width: int, out_width: int) -> torch.nn.Module:
    return torch.nn.Identity() if in_width == out_width else torch.nn.Linear(in_width, out_width, bias=False)
