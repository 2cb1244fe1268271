"""What processes that train a run together agree upon: when to stop, when to save. The first one saves and evaluates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from marius_lite.checkpoint.state import State
from marius_lite.errors import EndedElsewhere
from marius_lite.pipeline.batches import Finished
from marius_lite.processes.one_process import Processes
from marius_lite.train.parts import Parts
from marius_lite.train.trainer import Trainer


@dataclass(frozen=True, slots=True)
class LaneBatch:
    """A batch that a lane has trained, here or in another process."""

    epoch: int
    step: int
    index: int
    size: int
    loss: float

    @classmethod
    def of(cls, finished: Finished) -> LaneBatch:
        at = finished.batch
        return cls(at.epoch, at.step, at.index, at.size, finished.loss)


class TogetherTrainer(Trainer):
    """A trainer in each of several ``processes``, which all keep the same state. ``also``: see `Meter`.

    It stops and saves when all have heard so, whichever process it was that had a signal.
    """

    def __init__(
        self, parts: Sequence[Parts], state: State, processes: Processes, also: Callable[[], Mapping[str, float]] = dict
    ):
        self._processes, self.writes = processes, processes.is_first
        self._said: tuple[int | None, bool] = (None, False)
        super().__init__(parts[0], state, parts[1:], also)

    def _asked(self) -> tuple[int | None, bool]:
        """Return what this process would do by itself: the signal that asks it to stop, and whether a checkpoint is due."""
        return super()._signum(), super()._due()

    def _hear(self, asked: Iterable[tuple[int | None, bool]]) -> None:
        """Take note of what every process would do."""
        signals, due = zip(*asked)
        self._said = max(signum or 0 for signum in signals) or None, any(due)

    def _count(self, batches: Iterable[LaneBatch], rates: dict[str, float]) -> None:
        """Count batches that any process has trained. ``rates``: learning rates, where they are new since the last."""
        for batch in batches:
            loss_sum, edges = self.state.loss_sum + batch.loss * batch.size, self.state.edges + batch.size
            self.state = replace(self.state, loss_sum=loss_sum, edges=edges)
            self._meter.batch(batch, batch.loss, self.state, rates)
            rates = {}

    def _stop_if_asked(self) -> None:
        if self._said[0] is not None and not self.writes:
            raise EndedElsewhere(128 + self._said[0])
        super()._stop_if_asked()

    def _signum(self) -> int | None:
        return self._said[0]

    def _due(self) -> bool:
        return self._said[1]

    def _save(self) -> None:
        self.state = replace(self.state, metrics_length=self._processes.first(self.parts.metrics.sync))
        self._processes.first(self._save_here)

    def _save_here(self) -> None:
        super()._save()

    def _figures(self) -> dict[str, Any]:
        """Return the figures. They are made in the first process, from the files of all."""
        return self._processes.first(self.parts.work.evaluate)
