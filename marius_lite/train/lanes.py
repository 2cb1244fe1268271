"""Train a run in several lanes, in step with each other: alone, or beside other processes that train the other lanes.

for each epoch:  plan -> for each round:  each lane its two groups -> for each turn:  a batch of each lane, then a step of the
                                                                                      weights with the sum of what they learned
Between two rounds groups change lanes: their rows are written, then read by who trains them next. What stays is not written.

Every process keeps the same state and the same weights. Whether it is time to stop or to save is agreed upon in each turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from marius_lite.checkpoint.state import Cursor, State
from marius_lite.errors import EndedElsewhere
from marius_lite.nn.products import products_in
from marius_lite.optim.schedule import Rated
from marius_lite.ordering.lanes import rounds_of
from marius_lite.pipeline.batches import Finished
from marius_lite.train.lane import Lane
from marius_lite.train.parts import Parts
from marius_lite.train.processes import Processes
from marius_lite.train.trainer import Trainer
from marius_lite.types import EpochPlan, Step

HEAD = 7
"""Numbers, float64, that stand before the gradients of a turn."""


@dataclass(frozen=True, slots=True)
class LaneBatch:
    """A batch that a lane has trained, here or in another process."""

    epoch: int
    step: int
    index: int
    size: int


@dataclass(frozen=True, slots=True)
class Turn:
    """What a lane says in a turn: the ``batch`` that it has trained and its ``loss``; None where its round is over.

    ``learned``: its part of a step of the weights. ``signum``: the signal that asks its process to stop; 0: none did. ``due``:
    whether its process would save a checkpoint now.
    """

    batch: LaneBatch | None
    loss: float
    learned: Tensor
    signum: int
    due: bool

    @classmethod
    def of(cls, finished: Finished | None, learned: Tensor, signum: int | None, due: bool) -> Turn:
        if finished is None:
            return cls(None, 0.0, learned, signum or 0, due)
        at = finished.batch
        return cls(LaneBatch(at.epoch, at.step, at.index, at.size), finished.loss, learned, signum or 0, due)

    def vector(self) -> Tensor:
        """Return it as float32 numbers, whose first ones stand for float64."""
        at = (1, self.batch.step, self.batch.index, self.batch.size) if self.batch else (0, 0, 0, 0)
        head = torch.tensor([*at, self.loss, self.signum, self.due], dtype=torch.float64)
        return torch.cat([head.view(torch.float32), self.learned])

    @classmethod
    def read(cls, vector: Tensor, epoch: int) -> Turn:
        """Return what `vector` was made of."""
        there, step, index, size, loss, signum, due = vector[: 2 * HEAD].clone().view(torch.float64).tolist()
        batch = LaneBatch(epoch, int(step), int(index), int(size)) if there else None
        return cls(batch, loss, vector[2 * HEAD :], int(signum), bool(due))


class LanesTrainer(Trainer):
    """Trains this process's ``lanes`` from ``state`` on, in step with those of the other ``processes``."""

    def __init__(self, lanes: Sequence[Parts], state: State, processes: Processes):
        super().__init__(lanes[0], state, lanes[1:])
        self._all = self.config.scale.ranks
        self._lanes = [Lane(parts, self._interrupted_here) for parts in lanes]
        self._weights, self._processes, self.writes = self._lanes[0].weights, processes, processes.is_first
        self._mine = processes.lanes(self._all)
        self._said: tuple[int | None, bool] = (None, False)
        self._expect(state.checksums)

    def _train_epoch(self, plan: EpochPlan) -> None:
        rounds = rounds_of(plan, self._all)
        for number, by_lane in enumerate(rounds[self.state.cursor.step :], self.state.cursor.step):
            self._meter.begin_step()
            with ExitStack() as stack:
                for lane in self._lanes:
                    stack.callback(lane.end)
                self._train_round(plan.epoch, by_lane)
            self._hand_over(rounds[number + 1] if number + 1 < len(rounds) else [])
            self._meter.end_step(plan.epoch, _as_one(number, [step for steps in by_lane for step in steps]))
            self._move(Cursor(plan.epoch, number + 1))
        self._finish_epoch(plan.epoch)

    def _train_round(self, epoch: int, by_lane: Sequence[Sequence[Step]]) -> None:
        at, first = self.state.cursor.batch, self._lanes[0]
        edges = sum(first.edges_before(steps, first.batches(steps)) for steps in by_lane)
        rates = self._set_rates_for(self.state.edges - sum(first.edges_before(steps, at) for steps in by_lane), edges)
        for number, lane in zip(self._mine, self._lanes):
            lane.begin(epoch, by_lane[number], at)
        with products_in(self.config.training.precision):
            while self._train_turn(epoch, {} if at else rates):
                rates = {}
                if self._pause():
                    self._checkpoint()
                    self._stop_if_asked()

    def _train_turn(self, epoch: int, rates: dict[str, float]) -> bool:
        """Train a batch of each lane. Returns whether there was any. ``rates``: the learning rates, where they are new."""
        mine = [Turn.of(lane.train_batch(), lane.weights.taken, *self._asked()).vector() for lane in self._lanes]
        turns = [Turn.read(vector, epoch) for vector in self._processes.vectors(mine, self._all)]
        self._said = max(turn.signum for turn in turns) or None, any(turn.due for turn in turns)
        trained = [turn for turn in turns if turn.batch]
        self._weights.step_together([turn.learned for turn in trained])
        for turn in trained:
            assert turn.batch is not None
            loss_sum, edges = self.state.loss_sum + turn.loss * turn.batch.size, self.state.edges + turn.batch.size
            self.state = replace(self.state, loss_sum=loss_sum, edges=edges)
            self._meter.batch(turn.batch, turn.loss, self.state, rates if turn is trained[0] else {})
        if trained:
            self._move(replace(self.state.cursor, batch=self.state.cursor.batch + 1))
        return bool(trained)

    def _rated(self) -> Iterable[Rated]:
        return [each for lane in self._lanes for each in lane.parts.rates]

    def _interrupted_here(self) -> bool:
        return super()._signum() is not None

    def _asked(self) -> tuple[int | None, bool]:
        """Return what this process would do by itself: the signal that asks it to stop, and whether a checkpoint is due."""
        return super()._signum(), super()._due()

    def _stop_if_asked(self) -> None:
        if self._said[0] is not None and not self.writes:
            raise EndedElsewhere(128 + self._said[0])
        super()._stop_if_asked()

    def _signum(self) -> int | None:
        return self._said[0]

    def _due(self) -> bool:
        return self._said[1]

    def _hand_over(self, following: Sequence[Sequence[Step]]) -> None:
        """Write the rows that other lanes train in the ``following`` round, by lane, and tell all. After the last: all rows."""
        if following:
            written = [lane.hand_over(following[number]) for number, lane in zip(self._mine, self._lanes)]
            self._agree(self._of_all(written))
        else:
            self._agree(self._flush())

    def _agree(self, checksums: dict[int, int]) -> None:
        """Take note of the files that all lanes have written, and of what all processes are asked for."""
        said = self._processes.gathered(self._asked())
        self._said = max(signum or 0 for signum, _ in said) or None, any(due for _, due in said)
        self.state = replace(self.state, checksums={**self.state.checksums, **checksums})
        self._expect(self.state.checksums)

    def _expect(self, checksums: dict[int, int]) -> None:
        for lane in self._lanes:
            lane.parts.work.expect(checksums)

    def _flush(self) -> dict[int, int]:
        """Write what all lanes have changed. Returns the checksums of the files, of all lanes."""
        return self._of_all([lane.flush() for lane in self._lanes])

    def _of_all(self, written: list[dict[int, int]]) -> dict[int, int]:
        """Return the checksums that the lanes of all processes have."""
        return {k: checksum for each in self._processes.gathered(written) for files in each for k, checksum in files.items()}

    def _save(self) -> None:
        self.state = replace(self.state, metrics_length=self._processes.first(self.parts.metrics.sync))
        self._processes.first(self._save_here)

    def _save_here(self) -> None:
        super()._save()

    def _figures(self) -> dict[str, Any]:
        """Return the figures. They are made in the first process, from the files of all lanes."""
        return self._processes.first(self.parts.work.evaluate)


def _as_one(number: int, steps: Sequence[Step]) -> Step:
    """Return a round, with all that was resident and trained in it, as one step."""
    resident = tuple(sorted({k for step in steps for k in step.resident}))
    return Step(number, resident, (), (), tuple(bucket for step in steps for bucket in step.buckets), round=number)
