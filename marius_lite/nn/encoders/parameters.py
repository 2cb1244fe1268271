"""What the layers of graph neural networks learn, with the names and shapes of PyTorch Geometric's layers, and its first values.

These values are drawn as it draws them, each once when it is made and once more when the layer is complete. So a seed gives the
layers that it gives there. Importing PyTorch Geometric takes longer than importing torch, and here nothing else of it is needed.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import Parameter

NEGATIVE_SLOPE = 0.2


class SageParameters(torch.nn.Module):
    """``lin_l`` (with a bias) of the neighbours' mean, ``lin_r`` of the node itself, as SAGEConv has them."""

    def __init__(self, in_width: int, out_width: int):
        super().__init__()
        self.lin_l = torch.nn.Linear(in_width, out_width)
        self.lin_r = torch.nn.Linear(in_width, out_width, bias=False)
        self.lin_l.reset_parameters()
        self.lin_r.reset_parameters()


class GcnParameters(torch.nn.Module):
    """``lin``, and a ``bias`` after the sum, as GCNConv has them."""

    def __init__(self, in_width: int, out_width: int):
        super().__init__()
        self.lin = torch.nn.Linear(in_width, out_width, bias=False)
        self.bias = Parameter(torch.zeros(out_width))
        glorot(self.lin.weight)


class GatParameters(torch.nn.Module):
    """``lin_l`` of sources, ``lin_r`` of targets, the vector ``att`` (1, heads, out) and a ``bias``, as GATv2Conv has them.

    ``concat``: whether heads stand side by side. Otherwise they are averaged.
    """

    def __init__(self, in_width: int, out_width: int, heads: int, concat: bool):
        super().__init__()
        self.concat = concat
        self.lin_l = torch.nn.Linear(in_width, heads * out_width)
        self.lin_r = torch.nn.Linear(in_width, heads * out_width)
        self.att = Parameter(torch.empty(1, heads, out_width))
        self.bias = Parameter(torch.zeros(out_width * (heads if concat else 1)))
        for each in (self.lin_l, self.lin_r):
            glorot(each.weight)
            torch.nn.init.uniform_(each.bias, -(in_width**-0.5), in_width**-0.5)
        glorot(self.att)


class RgcnParameters(torch.nn.Module):
    """``weight`` (relations, in, out), ``root`` (in, out) of the node itself, and a ``bias``, as RGCNConv has them."""

    def __init__(self, in_width: int, out_width: int, relations: int):
        super().__init__()
        self.weight = Parameter(torch.empty(relations, in_width, out_width))
        self.root = Parameter(torch.empty(in_width, out_width))
        self.bias = Parameter(torch.zeros(out_width))
        glorot(self.weight)
        glorot(self.root)


class BatchNorm(torch.nn.Module):
    """Batch normalisation (Ioffe and Szegedy, ICML 2015). One row alone has no variance: it is taken as in evaluation."""

    def __init__(self, width: int):
        super().__init__()
        self.module = torch.nn.BatchNorm1d(width)

    def forward(self, x: Tensor) -> Tensor:
        norm = self.module
        if len(x) > 1:
            out: Tensor = norm(x)
            return out
        return torch.nn.functional.batch_norm(x, norm.running_mean, norm.running_var, norm.weight, norm.bias, eps=norm.eps)


def glorot(values: Tensor) -> None:
    """Draw ``values`` (..., rows, columns) uniformly, of variance 2 / (rows + columns) (Glorot and Bengio, AISTATS 2010)."""
    bound = math.sqrt(6 / (values.shape[-2] + values.shape[-1]))
    values.data.uniform_(-bound, bound)
