"""A worker's own copy of a model's weights, as one vector: what workers merge."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor


class Replica:
    """The weights of a ``model`` that are trained, ``parameters``, then what it keeps beside them and changes as it is called,
    such as the running means of a normalisation. All are float32; counters stay a worker's own.

    ``width``: numbers of a row of the largest weights. ``exact``: how many numbers, at the end, are no weights.
    """

    def __init__(self, parameters: Iterable[Tensor], model: torch.nn.Module):
        weights = [each.detach() for each in parameters]
        saved = model.state_dict(keep_vars=True)
        kept = [each for name, each in model.named_buffers() if name in saved and each.is_floating_point()]
        self._parts = [*weights, *kept]
        largest = max(weights, key=Tensor.numel, default=torch.empty(1))
        self.width = largest.shape[-1] if largest.ndim else 1
        self.exact = sum(each.numel() for each in kept)

    def vector(self) -> Tensor:
        """Return a copy of all numbers, end to end."""
        return torch.cat([torch.empty(0), *(each.reshape(-1) for each in self._parts)])

    def load(self, vector: Tensor) -> None:
        """Change all numbers to those of such a vector."""
        sizes = [each.numel() for each in self._parts]
        for part, values in zip(self._parts, torch.split(vector, sizes), strict=True):
            part.copy_(values.view_as(part))
