"""Run torch_geometric's BasicGNN models (GraphSAGE, GCN, GIN, GAT, EdgeCNN and classes derived from them) layer by layer."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import Tensor

from marius_lite.nn.encoders.base import Block, Layered
from marius_lite.nn.encoders.custom import CustomEncoder
from marius_lite.nn.encoders.gcn import normalised, propagate
from marius_lite.nn.products import linear

ONE_HOP = ("SAGEConv", "GINConv", "GATConv", "GATv2Conv", "EdgeConv", "PNAConv")
"""Convolutions that use only a node's in-edges and the rows at their ends. GCNConv also needs degrees."""
ROW_NORMS = ("Identity", "BatchNorm", "BatchNorm1d", "LayerNorm")
"""Norms that use one row at a time in an evaluation."""


def whole_graph_reason(module: torch.nn.Module) -> str | None:
    """Return why a module can only be run on the whole graph at once. None where `BasicGnnEncoder` can run it layer by layer."""
    loaded: Any = sys.modules.get("torch_geometric.nn.models.basic_gnn")  # where it is not, nothing is such a model
    if not loaded or not isinstance(module, loaded.BasicGNN) or type(module).forward is not loaded.BasicGNN.forward:
        return "has layers of its own, which cannot be run one at a time over all nodes"
    given: Any = module
    for conv in given.convs:
        if not _known(conv, ONE_HOP) and not _plain_gcn(conv):
            return f"has layers of kind {type(conv).__name__}, which may look further than a node's own in-edges"
    inside = (each for each in module.modules() if each is not module and "Norm" in type(each).__name__)
    for norm in (*given.norms, *inside):
        if not _known(norm, ROW_NORMS) or getattr(norm, "mode", "node") != "node":
            return f"has norms of kind {type(norm).__name__}, which may look at all nodes at once"
    return None


def _known(module: torch.nn.Module, names: tuple[str, ...]) -> bool:
    return type(module).__name__ in names and type(module).__module__.startswith(("torch.", "torch_geometric."))


class BasicGnnEncoder(CustomEncoder, Layered):
    """A BasicGNN. It trains like any module of the user, and `layer` runs it for all nodes, with the results of its own forward.

    With jumping knowledge, a row also has the results of the layers before, the latest last. So ``widths`` grow from layer to
    layer.
    """

    def __init__(self, module: Any, in_width: int, out_width: int) -> None:
        super().__init__(module, out_width)
        self.in_width = in_width
        layers, hidden = module.num_layers, module.hidden_channels
        self._collects = hasattr(module, "jk")
        self.widths = (*(hidden * (layer + 1 if self._collects else 1) for layer in range(layers - 1)), out_width)
        self.degrees = any(_plain_gcn(conv) and conv.normalize for conv in module.convs)

    @property
    def _module(self) -> Any:
        return self.module

    def layer(self, layer: int, x: Tensor, block: Block) -> Tensor:
        module, last = self._module, layer == len(self.widths) - 1
        before = x.shape[1] - self._inner(layer)
        out = _convolve(module.convs[layer], x[:, before:], block)
        if last and module.jk_mode is None:
            return out
        out = self._finished(layer, out)
        if self._collects:
            out = torch.cat([x[: block.targets, : x.shape[1] if layer else 0], out], 1)
        if not last:
            return out
        if self._collects:
            out = module.jk(list(torch.split(out, module.hidden_channels, 1)))
        result: Tensor = module.lin(out)
        return result

    def layer_bytes(self, layer: int, targets: int, sources: int, edges: int) -> int:
        hidden: int = self._module.hidden_channels
        heads: int = getattr(self._module.convs[layer], "heads", 1)
        width = max(self._inner(layer), hidden, self.out_width) * heads
        rows_an_edge = 8  # a convolution makes some rows for each edge, and for each loop that it adds
        return 4 * (rows_an_edge * width + 8) * (edges + sources) + 8 * targets * sum(self.widths[: layer + 1])

    def _inner(self, layer: int) -> int:
        inner: int = self._module.hidden_channels if layer else self.in_width
        return inner

    def _finished(self, layer: int, x: Tensor) -> Tensor:
        module = self._module
        if module.act is not None and module.act_first:
            x = module.act(x)
        x = module.norms[layer](x)
        if module.act is not None and not module.act_first:
            x = module.act(x)
        return x


def _plain_gcn(conv: Any) -> bool:
    return _known(conv, ("GCNConv",)) and (not conv.normalize or (conv.add_self_loops and not conv.improved))


def _convolve(conv: Any, x: Tensor, block: Block) -> Tensor:
    """Return the convolution's result, (targets, out).

    GCN normalises by the degrees in the whole graph. The block's edges do not tell those of the sources, so they are given.
    """
    if _plain_gcn(conv) and conv.normalize:
        return linear(propagate(x, normalised(block)), conv.lin.weight, conv.bias)
    out: Tensor = conv(x, block.edge_index())[: block.targets]
    return out
