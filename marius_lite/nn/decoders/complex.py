"""ComplEx (Trouillon et al., ICML 2016): DistMult over complex numbers; an edge has a direction."""

from __future__ import annotations

import numpy as np
import torch

from marius_lite.nn.decoders.base import Decoder, Values, complex_product


class ComplEx(Decoder):
    """score = Re <src * rel, conj(dst)> of dim / 2 complex numbers: real parts first, imaginary after."""

    even = True

    def query(self, entity: torch.Tensor, relation: torch.Tensor, side: int) -> torch.Tensor:
        return complex_product(entity, relation, conjugate=side == 1)

    def initial_relations(self, generator: np.random.Generator, count: int, dim: int) -> Values:
        values = np.zeros((count, dim), np.float32)
        values[:, : dim // 2] = 1
        return values

    def modulus(self, values: torch.Tensor) -> torch.Tensor:
        real, imaginary = values.chunk(2, -1)
        modulus = torch.hypot(real, imaginary)
        return torch.cat([modulus, modulus], -1)
