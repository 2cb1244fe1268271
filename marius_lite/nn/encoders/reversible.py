"""Deep stacks of convolutions whose inputs are not kept, but made again on the way back.

The couplings are those of RevGNN (Li, Müller, Ghanem, Koltun, "Training Graph Neural Networks with 1000 Layers", ICML 2021).
A row is cut into groups x_1 ... x_C, and one layer is

    y_0 = x_2 + ... + x_C        y_i = x_i + f_i(y_{i-1}), i = 1 ... C

From all y_i follow, from the last on, x_i = y_i - f_i(y_{i-1}). So the memory of a batch does not grow with the layers, and each
convolution is computed once more. What f_i drops follows from a seed, and is the same both times.

Sums of float32 lose digits, so that an x_i that is made again differs from what it was. The f_i before it is then taken of other
rows, and differs too: errors grow with every layer. So groups are summed in float64, and f_i takes them rounded to float32. Both
times it nearly always takes the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from marius_lite.nn.dropout import dropout
from marius_lite.nn.encoders.base import Block, Encoder, Layered, LayerGraph, norm_of
from marius_lite.nn.encoders.shape import EncoderShape
from marius_lite.nn.gradients import gradients
from marius_lite.nn.products import unrounded
from marius_lite.nn.seeding import seed_torch
from marius_lite.seeds import seed_for

Kind = Callable[[EncoderShape], Encoder]


class Activated(torch.nn.Module):
    """Norm, ReLU and dropout of rows, then a convolution, which is an encoder of one layer."""

    def __init__(self, kind: Kind, shape: EncoderShape):
        super().__init__()
        self.norm, self.dropout, self.conv = norm_of(shape.norm, shape.in_width), shape.dropout, kind(shape)

    def forward(self, x: Tensor, block: Block) -> Tensor:
        """Return the convolution's result, (targets, width), from rows x (sources, in)."""
        return unrounded(self.conv.layer(0, self.activated(x), block))

    def activated(self, x: Tensor) -> Tensor:
        x = self.norm(x).relu()
        return dropout(x, self.dropout) if self.training and self.dropout else x


class Couplings(torch.nn.Module):
    """The layers of equal width, as steps: each adds to one group of a row what its convolution makes of the other groups.

    ``shape``: that of one step: it is as wide as a group. ``shape.sums``: what the groups are summed in; steps take them in the
    type of the rows.
    """

    def __init__(self, kind: Kind, shape: EncoderShape, groups: int, layers: int):
        super().__init__()
        self.groups, self._sums = groups, shape.sums
        self.steps = torch.nn.ModuleList(Activated(kind, shape) for _ in range(layers * groups))

    def forward(self, x: Tensor, block: Block) -> Tensor:
        """Return what all steps make of rows x (n, width), where targets and sources are the same nodes.

        With gradients, only the result is kept.
        """
        seed = int(torch.randint(1 << 62, ()))
        out: Tensor = _Rebuilt.apply(self, block, seed, x, *self.parameters())  # type: ignore[no-untyped-call]
        return out

    def parts(self, x: Tensor) -> list[Tensor]:
        """Return the groups of rows x (n, width) as they are summed, copied: (n, width / groups) each."""
        dtype = torch.promote_types(x.dtype, self._sums)
        return [part.to(dtype, copy=True, memory_format=torch.contiguous_format) for part in x.chunk(self.groups, 1)]

    def taken(self, step: int) -> range:
        """Return the groups that a step takes: all but the first for the first group, else the one before."""
        group = step % self.groups
        return range(group - 1, group) if group else range(1, self.groups)

    def added(self, step: int, parts: Sequence[Tensor], block: Block, seed: int) -> Tensor:
        """Return what a step adds to its group, (targets, width of a group), from all groups of the sources' rows."""
        return self._added(step, self._input(step, parts), block, seed)

    def add(self, step: int, parts: list[Tensor], block: Block, seed: int) -> None:
        """Do a step: replace its group."""
        group = step % self.groups
        parts[group] = parts[group] + self.added(step, parts, block, seed)

    def undo(self, step: int, parts: list[Tensor], grads: list[Tensor], block: Block, seed: int) -> tuple[Tensor | None, ...]:
        """Make ``parts`` what they were before a step, and ``grads`` their gradients, which are summed like them.

        Returns the gradients of the step's parameters.
        """
        group = step % self.groups
        taken = self._input(step, parts).detach().requires_grad_()
        with torch.enable_grad():
            added = self._added(step, taken, block, seed)
        parts[group] = parts[group] - added.detach()
        wanted = [taken, *self.steps[step].parameters()]
        d_taken, *of_parameters = gradients([added], [grads[group].to(added.dtype)], wanted, allow_unused=True)
        if d_taken is not None:
            for other in self.taken(step):
                grads[other] = grads[other] + d_taken
        return tuple(of_parameters)

    def _input(self, step: int, parts: Sequence[Tensor]) -> Tensor:
        first, *others = (parts[group] for group in self.taken(step))
        for other in others:
            first = first + other
        return first.to(next(self.parameters()).dtype)

    def _added(self, step: int, taken: Tensor, block: Block, seed: int) -> Tensor:
        module: Any = self.steps[step]
        if self.training and module.dropout:
            seed_torch(seed_for(seed, "coupling", step), taken.device)
        added: Tensor = module(taken, block)
        return added


class _Rebuilt(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, couplings: Couplings, block: Block, seed: int, x: Tensor, *parameters: Tensor) -> Tensor:
        parts = couplings.parts(x)
        with _drawing_kept(x.device):
            for step in range(len(couplings.steps)):
                couplings.add(step, parts, block, seed)
        ctx.couplings, ctx.block, ctx.seed = couplings, block, seed
        ctx.save_for_backward(*parts)
        return _joined(parts, x.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        couplings: Couplings = ctx.couplings
        parts, grads, of_parameters = [*ctx.saved_tensors], couplings.parts(grad), list[Tensor | None]()
        with _drawing_kept(parts[0].device):
            for step in reversed(range(len(couplings.steps))):
                of_parameters[:0] = couplings.undo(step, parts, grads, ctx.block, ctx.seed)
        return None, None, None, _joined(grads, grad.dtype), *of_parameters


class Reversible(Layered):
    """A convolution, couplings of equal width, and a convolution to the results. See the module.

    ``shape``: the widths but the last are equal, and divided by ``shape.groups``. A layer of a pass over all nodes is one
    convolution: a step reaches one hop, and a coupling as many as there are groups.
    """

    def __init__(self, kind: Kind, shape: EncoderShape):
        super().__init__()
        width, groups, layers = shape.widths[0], shape.groups, len(shape.widths) - 2
        part = width // groups
        self.first = kind(replace(shape, widths=[width]))
        self.couplings = Couplings(kind, replace(shape, in_width=part, widths=[part]), groups, layers)
        self.last = Activated(kind, replace(shape, in_width=width, widths=shape.widths[-1:]))
        self.in_width, self.widths = shape.in_width, (*[width] * (1 + groups * layers), shape.widths[-1])
        self.degrees, self.asks_for_degrees = self.first.degrees, self.first.asks_for_degrees

    def forward(self, x: Tensor, graph: LayerGraph) -> Tensor:
        """Return the seeds' vectors (seeds, widths[-1]) from the input rows x (nodes, in_width) of ``graph``.

        All nodes go through all couplings. Those of the last hop have no neighbours: they are too far from the seeds to count.
        ValueError unless there is a hop for each of `widths`.
        """
        if graph.hops != len(self.widths):
            raise ValueError(f"a graph of {graph.hops} hops for an encoder of {len(self.widths)} convolutions")
        nodes = graph.whole()
        x = self.couplings(unrounded(self.first.layer(0, x, nodes)), nodes)
        out: Tensor = self.last(x[: graph.nodes(1)], graph.block(graph.hops - 1))
        return out

    def layer(self, layer: int, x: Tensor, block: Block) -> Tensor:
        if layer == 0:
            return self.first.layer(0, x, block)
        if self._is_last(layer):
            out: Tensor = self.last(x, block)
            return out
        step, parts = layer - 1, [*x[: block.targets].chunk(self.couplings.groups, 1)]
        group = step % self.couplings.groups
        parts[group] = parts[group] + self.couplings.added(step, x.chunk(self.couplings.groups, 1), block, 0)
        return torch.cat(parts, 1)

    def layer_bytes(self, layer: int, targets: int, sources: int, edges: int) -> int:
        convolution, width = self._convolution(layer), (self.in_width, *self.widths)[layer]
        activated = 0 if layer == 0 else 3 * 4 * sources * width
        return convolution.layer_bytes(0, targets, sources, edges) + activated + 2 * 4 * targets * self.widths[layer]

    def summed_width(self, layer: int) -> int | None:
        """Rows are summed as they are in the first layer alone; later layers activate them first."""
        return self._convolution(layer).summed_width(0) if layer == 0 or self.early_width(layer) is not None else None

    def combined(self, layer: int, sums: Tensor, rows: Tensor) -> Tensor:
        return self._convolution(layer).combined(0, sums, rows)

    def early_width(self, layer: int) -> int | None:
        return self._convolution(layer).early_width(0) if layer == 0 or self._is_last(layer) else None

    def early(self, layer: int, x: Tensor) -> Tensor:
        return self._convolution(layer).early(0, self.last.activated(x) if layer else x)

    def late(self, layer: int, x: Tensor, block: Block) -> Tensor:
        return self._convolution(layer).late(0, x, block)

    def _is_last(self, layer: int) -> bool:
        return layer == len(self.widths) - 1

    def _convolution(self, layer: int) -> Encoder:
        if layer == 0:
            return self.first
        step: Any = self.last if self._is_last(layer) else self.couplings.steps[layer - 1]
        convolution: Encoder = step.conv
        return convolution


def _joined(parts: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    return torch.cat([part.to(dtype) for part in parts], 1)


@contextmanager
def _drawing_kept(device: torch.device) -> Iterator[None]:
    """Let what the block draws change nothing of what is drawn after it."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        yield
