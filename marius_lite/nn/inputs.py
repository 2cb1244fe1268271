"""Prepare the rows that an encoder begins with: a node's features, what its codes say, then its learned numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Floats = npt.NDArray[np.float32]
Normalize = Callable[[Tensor], Tensor]
"""From rows (n, width) to a new tensor of rows whose first numbers, the features, are normalized; or to the rows as they are.
Behind the features there may be more numbers than before."""


def as_they_are(x: Tensor) -> Tensor:
    """Return ``x`` itself."""
    return x


class DividedRows:
    """Divides the first ``columns`` numbers of each row by the sum of their magnitudes."""

    def __init__(self, columns: int):
        self._columns = columns

    def __call__(self, x: Tensor) -> Tensor:
        features = x[:, : self._columns]
        return _beside(features / features.abs().sum(1, keepdim=True).clamp_min(1e-12), x)


class StandardColumns:
    """Subtracts ``mean`` (columns,) from the first numbers of each row and divides by ``deviation``, on the rows' ``device``.

    ``most``: the size at which what comes out is cut off; 0: it is not.
    """

    def __init__(self, mean: Floats, deviation: Floats, most: float = 0.0, device: torch.device | str = "cpu"):
        # On the device once: a captured graph of its work can copy nothing from the host's memory.
        self._mean, self._deviation = (torch.from_numpy(part).to(device) for part in (mean, deviation))
        self._most = most

    def __call__(self, x: Tensor) -> Tensor:
        return _beside(self._standardised(x[:, : len(self._mean)] - self._mean), x)

    def _standardised(self, centred: Tensor) -> Tensor:
        """Divide what has mean 0 by the deviations, in place, and cut it off."""
        centred /= self._deviation
        return centred.clamp_(-self._most, self._most) if self._most else centred


class LogColumns(StandardColumns):
    """Takes sign(x) log(1 + |x| / unit) of the first numbers of each row whose column has a unit above 0, then does as
    `StandardColumns`. ``units``: (columns,)."""

    def __init__(self, units: Floats, mean: Floats, deviation: Floats, most: float = 0.0, device: torch.device | str = "cpu"):
        super().__init__(mean, deviation, most, device)
        self._units = torch.from_numpy(units).to(device)
        self._logs = torch.where(self._units > 0, self._units, 1).log()

    def __call__(self, x: Tensor) -> Tensor:
        features = x[:, : len(self._mean)]
        logs = (features.abs() + self._units).log_().sub_(self._logs).copysign_(features)
        out = torch.where(self._units > 0, logs, features)
        return _beside(self._standardised(out.sub_(self._mean)), x)


class CodeColumns:
    """Does as ``normalize``, and puts a 0 or 1 for each code behind the first ``columns`` numbers of a row: whether the number of
    the code's column, before anything is done with it, is the code. ``codes``: those of a column. In order of columns."""

    def __init__(
        self, columns: int, codes: Mapping[int, Sequence[int]], normalize: Normalize, device: torch.device | str = "cpu"
    ):
        self._columns, self._normalize = columns, normalize
        self._codes = [(column, torch.tensor(codes[column], dtype=torch.float32, device=device)) for column in sorted(codes)]

    def __call__(self, x: Tensor) -> Tensor:
        flags = [x[:, column, None] == codes for column, codes in self._codes]
        normalized = self._normalize(x)
        return torch.cat([normalized[:, : self._columns], *flags, normalized[:, self._columns :]], 1)


class KnownColumns:
    """Does as ``normalize`` with all but the last number of each row, and puts a number for each class behind them: whether the
    last number is the class, counted from 1 (0: none is known), as a column of mean 0 and standard deviation 1.

    ``shares``: of all nodes, those that are known to be of each class (classes,). A class of few would be next to nothing in a
    mean of neighbours otherwise.
    """

    def __init__(self, shares: Floats, normalize: Normalize, device: torch.device | str = "cpu"):
        self._shares = torch.from_numpy(shares).to(device)
        self._deviations = (self._shares * (1 - self._shares)).sqrt_().clamp_min_(1e-6)
        self._classes, self._normalize = torch.arange(1, len(shares) + 1, dtype=torch.float32, device=device), normalize

    def __call__(self, x: Tensor) -> Tensor:
        return self.beside(x[:, :-1], x[:, -1])

    def beside(self, x: Tensor, known: Tensor) -> Tensor:
        """Return what a call does for rows ``x`` and the last numbers, ``known``, by themselves."""
        flags = (known[:, None] == self._classes).to(torch.float32)
        return torch.cat([self._normalize(x), flags.sub_(self._shares).div_(self._deviations)], 1)


def _beside(features: Tensor, x: Tensor) -> Tensor:
    columns = features.shape[1]
    return torch.cat([features, x[:, columns:]], 1) if columns < x.shape[1] else features
