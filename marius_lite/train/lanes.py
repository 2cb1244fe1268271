"""Train a run in several lanes, in step with each other: alone, or beside other processes that train the other lanes.

for each epoch:  plan -> for each round:  each lane its two groups -> for each turn:  a batch of each lane, then a step of the
                                                                                      weights with the sum of what they learned
Between two rounds groups change lanes: their rows are written, then read by who trains them next. What stays is not written.

Every process keeps the same state and the same weights. Whether it is time to stop or to save is agreed upon in each turn.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from marius_lite.checkpoint.state import Cursor, State
from marius_lite.merging.coding import coding_of
from marius_lite.nn.products import products_in
from marius_lite.optim.schedule import Rated
from marius_lite.ordering.lanes import rounds_of
from marius_lite.processes.apart import move
from marius_lite.processes.holders import Holders
from marius_lite.processes.one_process import Processes
from marius_lite.seeds import seed_for
from marius_lite.train.lane import Lane
from marius_lite.train.parts import Parts
from marius_lite.train.together import LaneBatch, TogetherTrainer
from marius_lite.types import EpochPlan, Step

HEAD, OF_BATCH = 3, 4
"""Numbers, float64, that stand before what a lane learned in a turn, and for each of its batches."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a lane says in a turn: the ``batches`` that it has trained; none where its round is over.

    ``learned``: its part of a step of the weights, as `merging.coding` writes it. ``signum``: the signal that asks its process
    to stop; 0: none did. ``due``: whether its process would save a checkpoint now.
    """

    batches: Sequence[LaneBatch]
    learned: Tensor
    signum: int
    due: bool

    def vector(self, most: int) -> Tensor:
        """Return it as float32 numbers, whose first ones stand for float64. ``most``: batches of a turn, at most."""
        batches = [number for each in self.batches for number in (each.step, each.index, each.size, each.loss)]
        head = [self.signum, self.due, len(self.batches), *batches, *[0.0] * (OF_BATCH * most - len(batches))]
        return torch.cat([torch.tensor(head, dtype=torch.float64).view(torch.float32), self.learned])

    @classmethod
    def read(cls, vector: Tensor, epoch: int, most: int) -> Turn:
        """Return what `vector` was made of."""
        head = HEAD + OF_BATCH * most
        signum, due, count, *numbers = vector[: 2 * head].clone().view(torch.float64).tolist()
        each = [numbers[OF_BATCH * place : OF_BATCH * (place + 1)] for place in range(int(count))]
        batches = [LaneBatch(epoch, int(step), int(index), int(size), loss) for step, index, size, loss in each]
        return cls(batches, vector[2 * head :], int(signum), bool(due))


class LanesTrainer(TogetherTrainer):
    """Trains this process's ``lanes`` from ``state`` on, in step with those of the other ``processes``.

    ``folders``: which folder each process has, see `processes.apart`.
    """

    def __init__(self, lanes: Sequence[Parts], state: State, processes: Processes, folders: Sequence[int] = (0,)):
        assert lanes[0].shared is not None
        self._lanes, self._weights = [Lane(parts) for parts in lanes], lanes[0].shared
        self._handed_over, self._of_others = 0.0, Counter[str]()
        super().__init__(lanes, state, processes, self._counted)
        self._all, self._every = self.config.scale.ranks, self.config.scale.relations_every
        bits, width = self.config.scale.merge_bits, self._weights.width
        self._coding = coding_of(bits, self._weights.size, width, self._weights.exact)
        self._holders = Holders(state.checksums, folders) if any(folders) else None
        self._lanes_of = processes.gathered(processes.lanes(self._all)) if self._holders else []
        self._weights.hold()
        self._expect(state.checksums)

    def _train_epoch(self, plan: EpochPlan) -> None:
        rounds = rounds_of(plan, self._all)
        for number, by_lane in enumerate(rounds[self.state.cursor.step :], self.state.cursor.step):
            self._meter.begin_step()
            self._bring(self._needed(by_lane))
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
        for lane in self._lanes:
            lane.begin(epoch, by_lane, at)
        with products_in(self.config.training.precision):
            while self._train_turn(epoch, {} if at else rates):
                rates = {}
                if self._pause():
                    self._checkpoint()
                    self._stop_if_asked()

    def _train_turn(self, epoch: int, rates: dict[str, float]) -> bool:
        """Train a turn's batches of each lane. Returns whether there was any. ``rates``: learning rates, where they are new."""
        mine = [self._turn_of(lane, number).vector(self._every) for lane in self._lanes for number in lane.parts.lanes]
        given = self._processes.vectors(mine, self._all, self._coding.width)
        turns = [Turn.read(vector, epoch, self._every) for vector in given]
        self._hear((turn.signum, turn.due) for turn in turns)
        trained = [turn for turn in turns if turn.batches]
        self._weights.step_together([self._coding.plain(turn.learned) for turn in trained])
        self._count((each for turn in trained for each in turn.batches), rates)
        batches = max(len(turn.batches) for turn in turns)
        self._move(replace(self.state.cursor, batch=self.state.cursor.batch + batches))
        return bool(trained)

    def _turn_of(self, lane: Lane, number: int) -> Turn:
        """Train the next batches of a lane. ``number``: which of all lanes it is."""
        at = self.state.cursor
        batches = [LaneBatch.of(each) for each in islice(iter(lane.train_batch, None), self._every)]
        signum, due = self._asked()
        chance = seed_for(self.config.training.seed, "merge", at.epoch, at.step, at.batch, number)
        return Turn(batches, self._coding.coded(self._weights.take(), chance), signum or 0, due)

    def _counted(self) -> dict[str, float]:
        """Return what the other processes have moved so far, and what it cost to go in step with them."""
        return {**self._of_others, "hand_over_s": self._handed_over, **self._processes.counters()}

    def _rated(self) -> Iterable[Rated]:
        return [each for lane in self._lanes for each in lane.parts.rates]

    def _hand_over(self, following: Sequence[Sequence[Step]]) -> None:
        """Write the rows that other lanes train in the ``following`` round, by lane, and tell all. After the last: all rows."""
        if following:
            start = time.perf_counter()
            written = [lane.hand_over(following) for lane in self._lanes]
            self._handed_over += time.perf_counter() - start
            self._agree(self._of_all(written))
        else:
            self._agree(self._flush())

    def _agree(self, checksums: dict[int, int]) -> None:
        """Take note of the files that all lanes have written, of what all processes are asked for, and of what they counted."""
        counted = Counter[str]()
        for lane in self._lanes:
            counted.update({key: value for key, value in lane.parts.work.counters().items() if not key.endswith("_s")})
        said = self._processes.gathered((*self._asked(), counted))
        self._hear((signum, due) for signum, due, _ in said)
        self._of_others = sum((each for _, _, each in said), Counter()) - counted
        self.state = replace(self.state, checksums={**self.state.checksums, **checksums})
        self._expect(self.state.checksums)

    def _expect(self, checksums: dict[int, int]) -> None:
        for lane in self._lanes:
            lane.parts.work.expect(checksums)

    def _flush(self) -> dict[int, int]:
        """Write what all lanes have changed. Returns the checksums of the files, of all lanes."""
        return self._of_all([lane.flush() for lane in self._lanes])

    def _of_all(self, written: list[dict[int, int]]) -> dict[int, int]:
        """Return the checksums that the lanes of all processes have, by partition. ``written``: of this process's lanes."""
        given = self._processes.gathered(written)
        if self._holders:
            for rank, each in enumerate(given):
                self._holders.written(rank, [k for files in each for k in files])
        return {k: checksum for each in given for files in each for k, checksum in files.items()}

    def _needed(self, by_lane: Sequence[Sequence[Step]]) -> dict[int, set[int]]:
        """Return which partitions each process needs in a round."""
        every = [{k for step in steps for k in step.resident} for steps in by_lane]
        return {rank: set[int]().union(*(every[lane] for lane in lanes)) for rank, lanes in enumerate(self._lanes_of)}

    def _bring(self, needed: Mapping[int, Collection[int]]) -> None:
        """Bring the newest files of partitions to the processes that need them, where these do not see each other's files."""
        if self._holders and (table := self.parts.work.rows.learned):
            move(self._processes, table.chunks, self._holders.bring(needed))

    def _save(self) -> None:
        self._bring({0: self.state.checksums})
        super()._save()

    def _figures(self) -> dict[str, Any]:
        self._bring({0: self.state.checksums})
        return super()._figures()


def _as_one(number: int, steps: Sequence[Step]) -> Step:
    """Return a round, with all that was resident and trained in it, as one step."""
    resident = tuple(sorted({k for step in steps for k in step.resident}))
    return Step(number, resident, (), (), tuple(bucket for step in steps for bucket in step.buckets), round=number)
