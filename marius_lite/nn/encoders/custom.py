"""Take a user's module as the encoder. Its forward is like those of torch_geometric's models."""

from __future__ import annotations

import importlib
import inspect
import os
import sys

import torch
from torch import Tensor

from marius_lite.errors import UserError
from marius_lite.nn.encoders.base import LayerGraph
from marius_lite.nn.encoders.shape import EncoderShape
from marius_lite.nn.geometric import without_geometric
from marius_lite.own_code import code_allowed, require_installed

KEY = "model.encoder"


class CustomEncoder(torch.nn.Module):
    """Runs ``module``.forward(x, edge_index) on the whole sampled neighbourhood. Edges lead from source to target.

    The first rows of its result are those of the seeds. If its forward has a parameter ``edge_type``, that gets the relations.
    """

    asks_for_degrees = False  # its forward counts the edges of the sample

    def __init__(self, module: torch.nn.Module, out_width: int) -> None:
        super().__init__()
        self.module, self.out_width = module, out_width
        self._typed = "edge_type" in inspect.signature(module.forward).parameters

    def forward(self, x: Tensor, graph: LayerGraph) -> Tensor:
        """Return (seeds, out_width) from the input rows x (nodes, in_width). Raises UserError for a result of another shape."""
        block = graph.block(0)
        extra = {"edge_type": block.rel} if self._typed else {}
        out = self.module(x, block.edge_index(), **extra)
        seeds = graph.hop_nodes[0]
        if not isinstance(out, Tensor) or out.ndim != 2 or len(out) < seeds or out.shape[1] != self.out_width:
            found = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
            raise UserError(
                f"{KEY}: {type(self.module).__name__}.forward returned {found} for {len(x)} nodes: expected "
                f"({len(x)}, {self.out_width}), the {seeds} seeds first"
            )
        return out[:seeds]


def load_module(name: str, shape: EncoderShape) -> torch.nn.Module:
    """Make an instance of the class that ``package.module:Class`` names, with the arguments that its constructor takes.

    The constructor may take in_channels, hidden_channels, num_layers, out_channels, dropout, heads and num_relations, as
    torch_geometric's models do. Raises UserError where the class is not there, is no module, or needs another argument.
    """
    kind, widths = _find(name), shape.widths
    hidden = {"hidden_channels": widths[0]} if len(set(widths[:-1])) <= 1 else {}
    known = {
        "in_channels": shape.in_width,
        "out_channels": widths[-1],
        "num_layers": len(widths),
        "dropout": shape.dropout,
        "heads": shape.heads,
        "num_relations": shape.relations,
        **hidden,
    }
    asked = inspect.signature(kind).parameters.values()
    names = [p.name for p in asked if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    unknown = [p.name for p in asked if p.name in names and p.default is p.empty and p.name not in known]
    if unknown:
        why = " (one hidden width is needed: the layers differ)" if "hidden_channels" in unknown else ""
        raise UserError(f"{KEY}: {name} asks for {', '.join(unknown)}, allowed are {', '.join(known)}{why}")
    try:
        return kind(**{key: value for key, value in known.items() if key in names})
    except Exception as error:  # whatever a user's code raises
        raise UserError(f"{KEY}: making {name} failed: {type(error).__name__}: {error}") from error


def _find(name: str) -> type[torch.nn.Module]:
    """Import the class that ``package.module:Class`` names. Raises UserError where it may not be imported, or is no module."""
    path, _, attribute = name.partition(":")
    if not path or not attribute:
        raise UserError(f"{KEY}: found {name!r}, expected package.module:Class")
    if path.partition(".")[0] == "torch_geometric":
        _require_geometric(name)
    if not code_allowed():
        require_installed(path, f"{KEY}: {name}")
    elif os.getcwd() not in sys.path:  # the search path of an installed command lacks the working folder
        sys.path.append(os.getcwd())
    try:
        module = importlib.import_module(path)
    except Exception as error:  # whatever a user's code raises
        raise UserError(f"{KEY}: {name}: cannot import {path}: {type(error).__name__}: {error}") from error
    found = getattr(module, attribute, None)
    if not isinstance(found, type) or not issubclass(found, torch.nn.Module):
        what = "has no such name" if found is None else f"is {type(found).__name__ if not isinstance(found, type) else found}"
        raise UserError(f"{KEY}: {name}: {attribute} {what}, expected a class of torch.nn.Module in {path}")
    return found


def _require_geometric(name: str) -> None:
    try:
        importlib.import_module("torch_geometric")
    except ImportError as error:
        raise without_geometric(error, f"{KEY}: {name} needs") from error
