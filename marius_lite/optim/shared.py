"""One step of the weights for several lanes: each learns from batches of its own, and the sum of what they learned counts.

The sums are made lane after lane, in order. So the bits do not depend on which process trained which lane.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from marius_lite.optim.dense import DenseOptimizer


class SharedWeights:
    """The weights behind ``optimizer``, which several lanes change together. All weights are float32.

    To a lane it is what an optimizer is: `step` takes the gradients, but the weights stay. What a ``model`` keeps beside weights
    and changes as it is called, such as the running means of a normalisation, is held back likewise. ``width``: numbers of a row
    of the largest weights, a relation's for example. ``size``: numbers of a vector that is taken. ``exact``: how many of them, at
    the beginning and at the end, are no gradients.
    """

    repeats = False
    rate = 1.0

    def __init__(self, optimizer: DenseOptimizer, model: torch.nn.Module):
        self.optimizer = optimizer
        self._parameters = list(optimizer.parameters.values())
        saved = model.state_dict(keep_vars=True)
        self._running = [each for name, each in model.named_buffers() if name in saved]
        self._sizes = [each.numel() for each in [*self._parameters, *self._running]]
        self._empty = torch.zeros(len(self._parameters) + sum(self._sizes))
        self.size, self.exact = len(self._empty), (len(self._parameters), sum(each.numel() for each in self._running))
        largest = max(self._parameters, key=Tensor.numel, default=torch.empty(1))
        self.width = largest.shape[-1] if largest.ndim else 1
        self._taken = self._empty
        self.hold()

    def hold(self) -> None:
        """Take what is beside the weights as it is now. To be called once it was loaded."""
        self._held = [each.clone() for each in self._running]

    def step(self) -> None:
        """Add the gradients in ``.grad`` to what is taken, and clear them."""
        if self._taken is self._empty:
            self._taken = torch.zeros_like(self._empty)
        gradients, changes = self._parts(self._taken)
        for place, (parameter, part) in enumerate(zip(self._parameters, gradients, strict=True)):
            if parameter.grad is not None:
                self._taken[place] += 1
                gradient = parameter.grad.reshape(-1)
                part.copy_(gradient) if self._taken[place] == 1 else part.add_(gradient)
                parameter.grad = None
        for running, held, part in zip(self._running, self._held, changes, strict=True):
            part += (running - held).reshape(-1)
            running.copy_(held)

    def take(self) -> Tensor:
        """Return what was learned since the last call, float32.

        It begins with a number for each parameter: how many batches had a gradient of it. The gradients follow, end to end, then
        by how much each call has changed what is beside the weights.
        """
        taken, self._taken = self._taken, self._empty
        return taken

    def step_together(self, vectors: Sequence[Tensor]) -> None:
        """Make one step with the sum of what lanes have taken, in this order. No vector: the weights stay."""
        if not vectors:
            return
        total = vectors[0].clone()
        for vector in vectors[1:]:
            total += vector
        gradients, changes = self._parts(total)
        for place, (parameter, part) in enumerate(zip(self._parameters, gradients, strict=True)):
            parameter.grad = part.view_as(parameter) if total[place] else None
        self.optimizer.step()
        for running, held, part in zip(self._running, self._held, changes, strict=True):
            change = part.view_as(held) / len(vectors)
            held += change if held.is_floating_point() else change.round().to(held.dtype)
            running.copy_(held)

    def repeated(self, steps: int = 1) -> None:
        """Refuse: nothing repeats a step that waits for other lanes."""
        raise AssertionError("lanes repeat no steps")

    def _parts(self, vector: Tensor) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        """Return the gradients in a vector, and the changes of what is beside the weights."""
        parts = torch.split(vector[len(self._parameters) :], self._sizes)
        return parts[: len(self._parameters)], parts[len(self._parameters) :]
