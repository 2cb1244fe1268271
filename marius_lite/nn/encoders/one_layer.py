"""An encoder seen layer by layer, for training that fits one layer after another (`config.layerwise`).

scores from rows alone               RowModel     without the graph
what all nodes gather for a layer    Gathering    over the graph, without weights
the layer and its scores of classes  RowLayer     over what was gathered, without the graph
the layers so far and their scores   FirstLayers  over the graph, to evaluate a run whose later layers are not trained
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import torch
from torch import Tensor

from marius_lite.nn.encoders.base import Block, Encoder, Layered, LayerGraph


class Gathering(Layered):
    """What each node takes from its neighbours in one layer of ``encoder``, before the layer's weights."""

    def __init__(self, encoder: Encoder, layer: int):
        super().__init__()
        self._place, self._gathers = layer, encoder
        self.degrees, self.in_width = encoder.degrees, (encoder.in_width, *encoder.widths)[layer]
        self.widths = (encoder.gathered_width(layer),)

    def layer(self, layer: int, x: Tensor, block: Block) -> Tensor:
        return self._gathers.gathered(self._place, x, block)

    def layer_bytes(self, layer: int, targets: int, sources: int, edges: int) -> int:
        return 4 * targets * (self.widths[0] + 2 * self.in_width) + 24 * edges

    def summed_width(self, layer: int) -> int | None:
        return None if self._gathers.summed_width(self._place) is None else self.in_width

    def combined(self, layer: int, sums: Tensor, rows: Tensor) -> Tensor:
        return self._gathers.with_own(sums, rows)


class RowModel(torch.nn.Module, ABC):
    """Scores of rows that have what they need of their neighbours. ``in_width``: numbers of a row. ``place``: its layer."""

    asks_for_degrees = False
    in_width: int
    place: int

    def forward(self, x: Tensor, graph: LayerGraph) -> Tensor:
        """Return the scores of the seeds, (seeds, classes), from rows x (nodes, in_width)."""
        return self.scores(x[: graph.nodes(0)])

    @abstractmethod
    def scores(self, x: Tensor) -> Tensor:
        """Return the scores of rows x (n, in_width): (n, classes)."""


class RowLayer(RowModel):
    """A layer of ``encoder`` over rows that `Gathering` gave. It scores ``classes``, by a head where its results are no scores.

    Its parameters have the names that they have in the encoder; those of the head begin with ``head``. Only the layer's own and
    the head's are trained.
    """

    def __init__(self, encoder: Encoder, layer: int, classes: int):
        super().__init__()
        self.convs, self.norms, self.residuals = encoder.convs, encoder.norms, encoder.residuals
        self.place, self._whole = layer, (encoder,)  # in a tuple, so that its parameters are not named twice
        self.in_width = encoder.gathered_width(layer)
        last = layer == len(encoder.widths) - 1
        self.head = None if last else torch.nn.Linear(encoder.widths[layer], classes)
        for name, parameter in self.named_parameters():
            parameter.requires_grad_(name.startswith(("head.", f"convs.{layer}.", f"norms.{layer}.")))

    @property
    def encoder(self) -> Encoder:
        return self._whole[0]

    def scores(self, x: Tensor) -> Tensor:
        return scored(self.results(x), self.head)

    def results(self, x: Tensor) -> Tensor:
        """Return the layer's results, (n, width), of rows x (n, in_width)."""
        return self.encoder.mapped(self.place, x)

    def train(self, mode: bool = True) -> Self:
        self.encoder.train(mode)
        return super().train(mode)


class FirstLayers(Layered):
    """The layers of an encoder up to that of ``last``, and its scores."""

    def __init__(self, last: RowLayer):
        super().__init__()
        self.last, encoder = last, last.encoder
        self.degrees, self.in_width = encoder.degrees, encoder.in_width
        classes = last.head.out_features if last.head is not None else encoder.widths[last.place]
        self.widths = (*encoder.widths[: last.place], classes)

    def layer(self, layer: int, x: Tensor, block: Block) -> Tensor:
        return self._scored(layer, self.last.encoder.layer(layer, x, block))

    def layer_bytes(self, layer: int, targets: int, sources: int, edges: int) -> int:
        return self.last.encoder.layer_bytes(layer, targets, sources, edges) + 4 * targets * self.widths[-1]

    def summed_width(self, layer: int) -> int | None:
        return self.last.encoder.summed_width(layer)

    def combined(self, layer: int, sums: Tensor, rows: Tensor) -> Tensor:
        return self._scored(layer, self.last.encoder.combined(layer, sums, rows))

    def early_width(self, layer: int) -> int | None:
        return self.last.encoder.early_width(layer)

    def early(self, layer: int, x: Tensor) -> Tensor:
        return self.last.encoder.early(layer, x)

    def late(self, layer: int, x: Tensor, block: Block) -> Tensor:
        return self._scored(layer, self.last.encoder.late(layer, x, block))

    def _scored(self, layer: int, rows: Tensor) -> Tensor:
        return scored(rows, self.last.head) if layer == self.last.place else rows


def scored(rows: Tensor, head: torch.nn.Linear | None) -> Tensor:
    """Return the scores of a layer's results (n, width), which may be scores themselves."""
    return rows if head is None else head(rows)
