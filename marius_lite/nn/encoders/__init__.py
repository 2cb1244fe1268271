"""Encoders, which are graph neural networks over sampled neighbourhoods, by name."""

from __future__ import annotations

from marius_lite.errors import UserError
from marius_lite.nn.encoders.base import Block, Encoder, Layered, LayerGraph
from marius_lite.nn.encoders.basic_gnn import BasicGnnEncoder, whole_graph_reason
from marius_lite.nn.encoders.custom import CustomEncoder, load_module
from marius_lite.nn.encoders.gat import Gat
from marius_lite.nn.encoders.gcn import Gcn
from marius_lite.nn.encoders.propagated import Propagated
from marius_lite.nn.encoders.reversible import Reversible
from marius_lite.nn.encoders.rgcn import Rgcn
from marius_lite.nn.encoders.sage import Sage
from marius_lite.nn.encoders.shape import EncoderShape

__all__ = [
    "ENCODERS",
    "AnyEncoder",
    "BasicGnnEncoder",
    "Block",
    "CustomEncoder",
    "Encoder",
    "EncoderShape",
    "LayerGraph",
    "Layered",
    "Propagated",
    "Reversible",
    "make_encoder",
    "whole_graph_reason",
]

AnyEncoder = Encoder | Reversible | Propagated | CustomEncoder
"""What `make_encoder` makes."""
ENCODERS: dict[str, type[Encoder]] = {"sage": Sage, "gcn": Gcn, "gat": Gat, "rgcn": Rgcn}
PROPAGATED = {"sgc": False, "sign": True}
"""Encoders whose hops have no weights, and whether they keep all hops."""


def make_encoder(name: str, shape: EncoderShape) -> AnyEncoder:
    """Make an encoder: one of ``ENCODERS``, or an instance of the class that ``package.module:Class`` names.

    A class of the user decides itself on norm and residual. Weights start at values drawn from torch's global generator. Raises
    UserError for a name or a value that is not allowed.
    """
    if ":" in name:
        module = load_module(name, shape)
        if whole_graph_reason(module):
            return CustomEncoder(module, shape.widths[-1])
        return BasicGnnEncoder(module, shape.in_width, shape.widths[-1])
    if name in PROPAGATED:
        return Propagated(shape, PROPAGATED[name])
    if name not in ENCODERS:
        allowed = ", ".join([*ENCODERS, *PROPAGATED])
        raise UserError(f"model.encoder: found {name!r}, allowed are {allowed} or package.module:Class")
    return Reversible(ENCODERS[name], shape) if shape.groups else ENCODERS[name](shape)
