"""The parts of a run. `train.build` makes them, the trainer uses them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch

from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.config.schema import Config
from marius_lite.errors import NotFinite
from marius_lite.metrics import MetricsLog
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.optim.schedule import Rated
from marius_lite.optim.shared import SharedWeights
from marius_lite.train.work import Work


@runtime_checkable
class Regularized(Protocol):
    """A model with a regularizer. ``n3_share`` multiplies the regularizer's weight, from the next batch on."""

    n3_share: float

    def largest_factor(self) -> float:
        """Return the largest number of a relation by which rows are multiplied."""


@dataclass(frozen=True)
class Parts:
    """The parts of a run. ``rates``: all that has a learning rate. ``regularized``: the model, where it has a regularizer.

    ``first_epoch``: the epoch with which schedules of learning rates begin. ``epochs``: those of the whole run.

    ``first``: how many of the first epochs take which part of the time of the others.

    ``shared``: the weights, where a run has several lanes, and these are the parts of ``lanes``.
    """

    run: RunFolder
    config: Config
    work: Work
    model: torch.nn.Module
    optimizer: DenseOptimizer
    rates: Sequence[Rated]
    metrics: MetricsLog
    regularized: Regularized | None = None
    first_epoch: int = 0
    epochs: int = 0
    first: tuple[int, float] = (0, 1.0)
    shared: SharedWeights | None = None
    lanes: Sequence[int] = (0,)

    def dense_state(self) -> dict[str, torch.Tensor]:
        """Return every dense tensor of the run by name: weights and the optimizer's state."""
        weights = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        return {**weights, **{f"optimizer.{name}": tensor for name, tensor in self.optimizer.state_tensors().items()}}

    def require_finite(self) -> None:
        """Raise NotFinite for a weight, or a number of the optimizer's state, that is not finite."""
        weights = {f"model.{name}": weight.detach() for name, weight in self.model.named_parameters()}
        for name, tensor in (weights | self.optimizer.state_tensors()).items():
            if not torch.isfinite(tensor).all():
                raise NotFinite(f"{name}: a number is not finite")

    def close(self) -> None:
        self.work.close()
