"""The distributions from which rows and relations are drawn when a run begins."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float32]
Kind = Literal["normal", "uniform"]


@dataclass(frozen=True)
class Draw:
    """A distribution. ``normal``: mean 0, standard deviation ``scale``. ``uniform``: between -scale and scale."""

    kind: Kind
    scale: float

    def __call__(self, generator: np.random.Generator, count: int, dim: int) -> Values:
        """Draw values (count, dim), float32."""
        return KINDS[self.kind](generator, count, dim, self.scale)

    def changed(self, kind: Kind | None, scale: float | None) -> Draw:
        """Return the distribution with another kind or scale, where they are given. A kind alone keeps the standard deviation."""
        kind = kind or self.kind
        return Draw(kind, self.scale * DEVIATION[self.kind] / DEVIATION[kind] if scale is None else scale)


def _normal(generator: np.random.Generator, count: int, dim: int, scale: float) -> Values:
    values = generator.standard_normal((count, dim), np.float32)
    values *= np.float32(scale)
    return values


def _uniform(generator: np.random.Generator, count: int, dim: int, scale: float) -> Values:
    values = generator.random((count, dim), np.float32)
    values *= np.float32(2 * scale)
    values -= np.float32(scale)
    return values


DEVIATION = {"normal": 1.0, "uniform": 1 / math.sqrt(3)}
"""The standard deviation of each kind at scale 1."""
KINDS: dict[str, Callable[[np.random.Generator, int, int, float], Values]] = {"normal": _normal, "uniform": _uniform}
