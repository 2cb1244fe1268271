"""Graph neural networks over sampled neighbourhoods, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from marius_lite.errors import UserError
from marius_lite.nn.encoders.base import Block, Encoder, Layered, LayerGraph
from marius_lite.nn.encoders.basic_gnn import BasicGnnEncoder, why_whole
from marius_lite.nn.encoders.custom import CustomEncoder, load_module
from marius_lite.nn.encoders.gat import Gat
from marius_lite.nn.encoders.gcn import Gcn
from marius_lite.nn.encoders.rgcn import Rgcn
from marius_lite.nn.encoders.sage import Sage

__all__ = ["ENCODERS", "BasicGnnEncoder", "Block", "CustomEncoder", "Encoder", "LayerGraph", "Layered", "make_encoder",
           "why_whole"]

ENCODERS: dict[str, type[Encoder]] = {"sage": Sage, "gcn": Gcn, "gat": Gat, "rgcn": Rgcn}


def make_encoder(name: str, in_width: int, widths: Sequence[int], *, dropout: float = 0.0, norm: str = "none",
                 residual: bool = False, heads: int = 1, relations: int = 1,
                 options: Mapping[str, Any] | None = None) -> Encoder | CustomEncoder:
    """An entry of ``ENCODERS``, or what ``package.module:Class`` names (which decides itself on norm and residual).

    ``heads`` matter to gat, ``relations`` to rgcn, ``options`` to a class of the user's. Parameters start at values drawn from
    torch's global generator. UserError for a name or a value that is not allowed, or without torch_geometric.
    """
    if ":" in name:
        module = load_module(name, in_width, widths, dropout=dropout, heads=heads, relations=relations, options=options)
        return CustomEncoder(module, widths[-1]) if why_whole(module) else BasicGnnEncoder(module, in_width, widths[-1])
    if name not in ENCODERS:
        raise UserError(f"model.encoder: found {name!r}, allowed are {', '.join(ENCODERS)} or package.module:Class")
    own = {"gat": {"heads": heads}, "rgcn": {"relations": relations}}.get(name, {})
    return ENCODERS[name](in_width, widths, dropout=dropout, norm=norm, residual=residual, **own)
