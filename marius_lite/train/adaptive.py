"""Train a run in several processes that are not equally fast: each takes the next batch of the epoch when it is free.

for each epoch:  until no node is left:  each worker, until as many nodes are trained as lie between two merges:
                                             claim the next nodes -> train them as a batch, with weights of its own
                                         all merge their weights; who was faster gets larger batches from here on

Adaptive SGD (Ma, Rusu, Wu and Sim 2022: Adaptive Elastic Training for Sparse Deep Learning on Heterogeneous Multi-GPU Servers).
Which worker trains which nodes depends on the clock, so no two runs are alike. All that is saved is saved after a merge.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from marius_lite.checkpoint import save as checkpoints
from marius_lite.checkpoint.dense import optimizer_state, tensors_of
from marius_lite.checkpoint.state import Cursor, State
from marius_lite.merging.coding import EXACT, Coding, coding_of
from marius_lite.merging.merge import AllMerge, Merge, RingMerge
from marius_lite.merging.paces import Paces
from marius_lite.merging.replica import Replica
from marius_lite.nn.products import products_in
from marius_lite.pipeline.batches import Drawn, Sampled, Stages, Stop, run
from marius_lite.processes.one_process import Processes
from marius_lite.seeds import seed_for
from marius_lite.storage.background import read_ahead
from marius_lite.tasks.node_classification import NodeWindow
from marius_lite.train.parts import Parts
from marius_lite.train.together import LaneBatch, TogetherTrainer
from marius_lite.types import EpochPlan

NOT_DETERMINISTIC = (
    "workers take batches as they are free (scale.mode: adaptive), so that the run is not deterministic: another one from the "
    "same seed comes to other weights"
)
SIZES, CHANGE = "merge.sizes", "merge.change"
"""Tensors of a checkpoint: the sizes of the workers' batches; the change of the weights by the last merge."""


class AdaptiveTrainer(TogetherTrainer):
    """Trains as one of several workers, the ``processes``.

    ``saved``: the tensors of the checkpoint to go on from; none: a new run. A worker's optimizer state stays its own: it follows
    from the gradients that it has seen.
    """

    def __init__(self, parts: Parts, state: State, processes: Processes, saved: Mapping[str, Tensor]):
        super().__init__([parts], state, processes, processes.counters)
        scale = self.config.scale
        self._paces = Paces(self.config.training.batch_size, scale.ranks, scale.merge_batches)
        self._replica = Replica(parts.optimizer.parameters.values(), parts.model)
        self._before = self._replica.vector()
        self._sizes = [int(size) for size in saved[SIZES]] if SIZES in saved else [self._paces.first] * scale.ranks
        self._change = saved[CHANGE].clone() if CHANGE in saved else torch.zeros_like(self._before)
        if processes.rank and saved:
            parts.optimizer.load_state_tensors(optimizer_state(tensors_of(saved, _worker(processes.rank))))
        self._merges, self._all = self._made_merges()
        self._hold(self._before)
        self._others_state: list[dict[str, Tensor]] = []

    def _made_merges(self) -> tuple[Merge, Merge]:
        """Return how workers merge, and how they do so before they are evaluated or saved."""
        scale, vector, processes = self.config.scale, self._before, self._processes

        def coding(bits: int) -> Coding:
            return coding_of(bits, len(vector), self._replica.width, (0, self._replica.exact))

        def all_merge(coding: Coding) -> AllMerge:
            return AllMerge(coding, lambda mine: processes.vectors([mine], scale.ranks, coding.width))

        if scale.merge == "all":
            merge = all_merge(coding(scale.merge_bits))
            return merge, merge
        return RingMerge(coding(scale.merge_bits), processes.beside), all_merge(coding(EXACT))

    def _train_epoch(self, plan: EpochPlan) -> None:
        work, (step,) = self.parts.work, plan.steps
        with self._meter.during("wait"):
            work.enter(step, None)
        (window,) = work.windows(step)
        opened = work.open(plan.epoch, window, None)
        assert isinstance(opened, NodeWindow)
        while left := window.edges - self.state.edges:
            self._meter.begin_step()
            rates = self._set_rates_for(self.state.edges, window.edges)
            self.parts.optimizer.rate *= self._paces.rates(self._sizes)[self._processes.rank]
            number = self.state.cursor.step
            self._tell_all(self._train_until_merge(opened, self._paces.until_merge(left)), rates, window.edges)
            self._meter.end_step(plan.epoch, replace(step, index=number))
            self._move(Cursor(plan.epoch, number + 1))
            if self._pause() and self.state.edges < window.edges:
                self._checkpoint()
                self._stop_if_asked()
        self._finish_epoch(plan.epoch)

    def _train_until_merge(self, opened: NodeWindow, nodes: int) -> list[LaneBatch]:
        """Train this worker's batches of the next ``nodes`` nodes of an epoch."""
        stages = self.parts.work.stages()
        assert isinstance(stages, Stages)
        first, size = self.state.edges, self._sizes[self._processes.rank]
        what = f"{opened.epoch}/{self.state.cursor.step}"

        def take() -> slice | None:
            if self._interrupt.signum is not None:
                self._processes.claimed(what, nodes)  # nothing is left for the others, so that all merge soon
                return None
            start = self._processes.claimed(what, size) - size
            return slice(first + start, first + min(start + size, nodes)) if start < nodes else None

        # Closed whatever happens: the thread that prepares batches must end before the rows that it reads go.
        batches = run(opened.taken(take), replace(stages, ahead=one_ahead), 0, lambda: False)
        with closing(batches) as trained, products_in(self.config.training.precision):
            return [LaneBatch.of(each) for each in trained]

    def _tell_all(self, mine: list[LaneBatch], rates: dict[str, float], nodes: int) -> None:
        """Merge, and take note of what all workers have trained of an epoch of so many ``nodes``."""
        said = self._processes.gathered((self._asked(), mine))
        self._hear(asked for asked, _ in said)
        at, each_trained = self.state.cursor, [sum(each.size for each in batches) for _, batches in said]
        trained = sorted((each for _, batches in said for each in batches), key=lambda each: each.index)
        self._count((replace(each, step=at.step) for each in trained), rates)
        self._merge(each_trained[self._processes.rank], self.state.edges == nodes or self._pause())
        updates = [len(batches) for _, batches in said]
        machine = {"batch_sizes": self._sizes, "updates": updates, "nodes": each_trained}
        self.parts.metrics.write("merge", at.epoch, at.step, 0, deterministic=False, machine=machine)
        self._sizes = self._paces.following(self._sizes, updates)

    def _merge(self, trained: int, all_of_them: bool) -> None:
        """Merge the weights. A worker's count by the nodes that it has ``trained``."""
        at, merge = self.state.cursor, self._all if all_of_them else self._merges
        seed = seed_for(self.config.training.seed, "merge", at.epoch, at.step, 0, self._processes.rank)
        merged = merge.merged(self._replica.vector(), trained, seed)
        if merge is self._merges:  # around a ring each has a change of its own, after which they would not be equal
            weights = len(merged) - self._replica.exact
            merged[:weights] += self.config.scale.merge_momentum * self._change[:weights]
        self._change = merged - self._before
        self._before = merged
        self._replica.load(merged)
        if merge is self._all:
            self._hold(merged)

    def _hold(self, common: Tensor) -> None:
        for merge in (self._merges, self._all):
            merge.hold(common)

    def _save(self) -> None:
        self._others_state = self._processes.gathered(self.parts.optimizer.state_tensors())[1:]
        super()._save()
        self._others_state = []

    def _save_here(self) -> None:
        others = {
            f"{_worker(rank)}optimizer.{name}": tensor
            for rank, tensors in enumerate(self._others_state, 1)
            for name, tensor in tensors.items()
        }
        own = {SIZES: torch.tensor(self._sizes), CHANGE: self._change}
        checkpoints.save(self.parts.run, self.state, {**self.parts.dense_state(), **others, **own}, self.config.checkpoint.keep)


def one_ahead(
    batches: Iterable[Drawn], sample: Callable[[Drawn], Any], stop: Stop
) -> Generator[tuple[Drawn, Sampled], None, None]:
    """Return each batch with its ids. The next one alone is taken, and its ids sampled, meanwhile: what a worker has taken, no
    other trains, and all wait for it before a merge. See `pipeline.batches.Stages`."""
    return read_ahead((batch, sample(batch)) for batch in batches)


def _worker(rank: int) -> str:
    """Return how the names of a worker's tensors begin in a checkpoint. The first worker's have no such beginning."""
    return f"worker.{rank}."
