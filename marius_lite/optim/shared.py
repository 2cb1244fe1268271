"""One step of the weights for several lanes: each learns from a batch of its own, and the sum of what they learned counts.

The sums are made lane after lane, in order. So the bits do not depend on which process trained which lane.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from marius_lite.optim.dense import DenseOptimizer


class SharedWeights:
    """The weights behind ``optimizer``, which several lanes change together. All weights are float32.

    To a lane it is what an optimizer is: `step` takes the gradients, but the weights stay. ``size``: numbers of a vector.
    """

    repeats = False
    rate = 1.0

    def __init__(self, optimizer: DenseOptimizer):
        self.optimizer = optimizer
        self._parameters = list(optimizer.parameters.values())
        self._sizes = [parameter.numel() for parameter in self._parameters]
        self.size = len(self._parameters) + sum(self._sizes)
        self.taken: Tensor = torch.zeros(self.size)

    def step(self) -> None:
        """Put the gradients in ``.grad`` into ``taken``, and clear them.

        It begins with a 1 for each parameter that has a gradient and a 0 for each other one. The gradients follow, end to end.
        """
        taken = torch.zeros(self.size)
        parts = torch.split(taken[len(self._parameters) :], self._sizes)
        for place, (parameter, part) in enumerate(zip(self._parameters, parts, strict=True)):
            if parameter.grad is not None:
                taken[place] = 1
                part.copy_(parameter.grad.reshape(-1))
                parameter.grad = None
        self.taken = taken

    def step_together(self, vectors: Sequence[Tensor]) -> None:
        """Make one step with the sum of what lanes have ``taken``, in this order. No vector: the weights stay."""
        if not vectors:
            return
        total = vectors[0].clone()
        for vector in vectors[1:]:
            total += vector
        parts = torch.split(total[len(self._parameters) :], self._sizes)
        for place, (parameter, part) in enumerate(zip(self._parameters, parts, strict=True)):
            parameter.grad = part.view_as(parameter) if total[place] else None
        self.optimizer.step()

    def repeated(self, steps: int = 1) -> None:
        """Refuse: nothing repeats a step that waits for other lanes."""
        raise AssertionError("lanes repeat no steps")
