"""What an encoder is built from, whichever kind it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class EncoderShape:
    """The sizes and settings of an encoder.

    ``in_width``: numbers of a node in its input. ``widths``: numbers of a node after each layer; the last is that of the result.
    ``dropout``: share of the numbers that is set to zero between layers. ``norm``: "none", "layer" (of each row) or "batch".
    ``residual``: whether a layer's input is added to its result. ``heads``: attention heads, for gat. ``relations``: how many
    relations edges have, for rgcn. ``gcn_norm``, ``diagonal``: how gcn weighs neighbours and the node's own row;
    sgc and sign have the first, too.
    ``groups``: of reversible couplings; 0: none. ``sums``: what these are summed in, unless rows are wider. ``hops``: of an
    encoder whose hops have no weights. ``degree_unit``: above 0, the number of neighbours beside which a node's own are seen;
    ``degrees_apart``: those at either end of edges.
    """

    in_width: int
    widths: Sequence[int]
    dropout: float = 0.0
    norm: str = "none"
    residual: bool = False
    heads: int = 1
    relations: int = 1
    gcn_norm: str = "symmetric"
    diagonal: float = 0.0
    groups: int = 0
    sums: torch.dtype = torch.float64
    hops: int = 1
    degree_unit: float = 0.0
    degrees_apart: bool = False

    @property
    def shown_degrees(self) -> int:
        """How many numbers tell how many neighbours a node has."""
        return 1 + self.degrees_apart if self.degree_unit > 0 else 0
