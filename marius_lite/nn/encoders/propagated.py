"""Encoders whose hops have no weights: SGC (Wu et al., ICML 2019) and SIGN (Frasca et al., 2020).

A is GCN's normalised matrix of the whole graph, with each node's own row, or, with ``gcn_norm`` mean, that of the mean of a
node's neighbours. SGC makes scores of A^k X, SIGN of X, AX ... A^k X side by side. So hops are computed once, before anything is
learned, and what is learned sees single rows. Without hops these are X.
"""

from __future__ import annotations

import itertools
from typing import Any, Self

import torch
from torch import Tensor

from marius_lite.nn.dropout import dropout
from marius_lite.nn.encoders.base import Block, Layered, norm_of
from marius_lite.nn.encoders.gcn import normalised, propagate
from marius_lite.nn.encoders.one_layer import RowModel
from marius_lite.nn.encoders.sage import means
from marius_lite.nn.encoders.shape import EncoderShape
from marius_lite.nn.products import linear, unrounded


class Propagated(Layered):
    """Scores of propagated rows. A layer of a pass over all nodes is a hop; the last one makes the scores.

    ``keeps``: whether a row has all hops, the last one first, each in_width numbers (SIGN), or the last alone (SGC).
    The first of the head's maps has a part for each hop. ReLU and dropout follow each map but the last.
    """

    def __init__(self, shape: EncoderShape, keeps: bool):
        super().__init__()
        self.degrees = self.asks_for_degrees = shape.gcn_norm != "mean" and shape.hops > 0
        self.in_width, self.hops, self.keeps, self.dropout = shape.in_width, shape.hops, keeps, shape.dropout
        first, *others = shape.widths
        parts = shape.hops + 1 if keeps else 1
        joined = first * parts if others else first
        maps = [torch.nn.Linear(*ends) for ends in itertools.pairwise([joined, *others])]
        self.convs = torch.nn.ModuleList(
            [torch.nn.ModuleList(torch.nn.Linear(shape.in_width, first) for _ in range(parts)), *maps]
        )
        self.norms = torch.nn.ModuleList(norm_of(shape.norm, width) for width in [joined, *others][:-1])
        self.widths = (*map(self.propagated_width, range(1, shape.hops)), shape.widths[-1])

    def propagated_width(self, hops: int) -> int:
        """Return how many numbers a row has after so many hops."""
        return self.in_width * (hops + 1 if self.keeps else 1)

    def hop(self, x: Tensor, block: Block) -> Tensor:
        """Return what each target takes from its neighbours' last hop, (targets, in_width)."""
        if not self.hops:
            return x[: block.targets]
        return propagate(x[:, : self.in_width].contiguous(), normalised(block) if self.degrees else means(block))

    def propagated(self, sums: Tensor, rows: Tensor) -> Tensor:
        """Return rows with one hop more, from the sums of what the last hop gave; rows as they are where there are no hops."""
        if not self.hops:
            return rows
        return torch.cat([sums, rows], 1) if self.keeps else sums

    def scores(self, rows: Tensor) -> Tensor:
        """Return the scores (n, widths[-1]) of rows (n, propagated_width) with all hops."""
        first: Any = self.convs[0]
        parts = [_mapped(each, part) for each, part in zip(first, rows.chunk(len(first), 1))]
        out = torch.cat(parts, 1) if len(self.convs) > 1 else torch.stack(parts).sum(0)
        for norm, each in zip(self.norms, self.convs[1:]):
            out = norm(out).relu()
            out = dropout(out, self.dropout) if self.training and self.dropout else out
            out = _mapped(each, out)
        return out

    def layer(self, layer: int, x: Tensor, block: Block) -> Tensor:
        return self.combined(layer, self.hop(x, block), x[: block.targets])

    def layer_bytes(self, layer: int, targets: int, sources: int, edges: int) -> int:
        hidden = sum(each.out_features for each in self.modules() if isinstance(each, torch.nn.Linear))
        width = self.propagated_width(layer + 1) + (2 * hidden if self._is_last(layer) else 0)
        return 4 * (2 * targets * width + sources * self.in_width) + 24 * edges

    def summed_width(self, layer: int) -> int | None:
        return self.in_width

    def combined(self, layer: int, sums: Tensor, rows: Tensor) -> Tensor:
        rows = self.propagated(sums, rows)
        return self.scores(rows) if self._is_last(layer) else rows

    def _is_last(self, layer: int) -> bool:
        return layer == max(self.hops, 1) - 1


class Propagation(Layered):
    """The hops of ``model``, without its scores: a row has all that `Propagated.scores` takes."""

    def __init__(self, model: Propagated):
        super().__init__()
        self.model, self.in_width, self.degrees = model, model.in_width, model.degrees
        self.widths = tuple(map(model.propagated_width, range(1, model.hops + 1))) or (self.in_width,)

    def layer(self, layer: int, x: Tensor, block: Block) -> Tensor:
        return self.model.propagated(self.model.hop(x, block), x[: block.targets])

    def layer_bytes(self, layer: int, targets: int, sources: int, edges: int) -> int:
        return 4 * (2 * targets * self.widths[layer] + sources * self.in_width) + 24 * edges

    def summed_width(self, layer: int) -> int | None:
        return self.in_width

    def combined(self, layer: int, sums: Tensor, rows: Tensor) -> Tensor:
        return self.model.propagated(sums, rows)


class PropagatedRows(RowModel):
    """The scores of `Propagated` from rows that `Propagation` gave. Its parameters have the names that they have there."""

    place = 0

    def __init__(self, model: Propagated):
        super().__init__()
        self.convs, self.norms, self._whole = model.convs, model.norms, (model,)
        self.in_width = model.propagated_width(model.hops)

    def scores(self, x: Tensor) -> Tensor:
        return self._whole[0].scores(x)

    def train(self, mode: bool = True) -> Self:
        self._whole[0].train(mode)
        return super().train(mode)


def _mapped(each: Any, rows: Tensor) -> Tensor:
    return unrounded(linear(rows, each.weight, each.bias))
