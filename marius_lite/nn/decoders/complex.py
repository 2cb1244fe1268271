"""ComplEx (Trouillon et al., ICML 2016): DistMult over complex numbers; an edge has a direction."""

from __future__ import annotations

import torch

from marius_lite.nn.decoders.base import Decoder, EdgeContext, complex_product


class ComplEx(Decoder):
    """score = Re <src * rel, conj(dst)> of dim / 2 complex numbers. Real parts come first, imaginary parts after."""

    def query(self, entity: torch.Tensor, context: EdgeContext, side: int) -> torch.Tensor:
        return complex_product(entity, context.relation, conjugate=side == 1)

    def relation_query(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return complex_product(target, source, conjugate=True)

    def modulus(self, values: torch.Tensor) -> torch.Tensor:
        real, imaginary = values.chunk(2, -1)
        modulus = torch.hypot(real, imaginary)
        return torch.cat([modulus, modulus], -1)
