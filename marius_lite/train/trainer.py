"""The loop of a run, from wherever its cursor stands to the last epoch.

    for each epoch:  plan -> for each step:  partitions resident -> for each window of edges:  batches through the pipeline
    checkpoints at epoch ends, on a clock between two batches, and when a signal asks to stop
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial

import numpy as np

from marius_lite import files
from marius_lite.checkpoint import save as checkpoints
from marius_lite.checkpoint.state import Cursor, State
from marius_lite.config.schedule import checkpoint_due, evaluation_due, is_last
from marius_lite.ordering.plan import make_plan
from marius_lite.pipeline.batches import Finished, run
from marius_lite.sampling.negatives import Resident
from marius_lite.sampling.windows import (
    Window,
    WindowEdges,
    batch_slices,
    shuffled,
    to_rows,
    windows_of,
)
from marius_lite.seeds import generator_for
from marius_lite.train.interrupt import Interrupt, Interrupted
from marius_lite.train.meter import Meter
from marius_lite.train.parts import Parts
from marius_lite.types import EdgeBatch, EpochPlan, Step


class Trainer:
    """Runs ``parts`` from ``state`` on; `train` returns when all epochs are done."""

    def __init__(self, parts: Parts, state: State):
        self.parts, self.state = parts, state
        self.config = parts.config
        self._meter = Meter(parts, state)
        self._interrupt = Interrupt()
        self._saved_at = time.monotonic()

    def train(self) -> State:
        with self._interrupt, closing(self._meter):
            if self.state.evaluate:
                self._evaluate(self.state.cursor.epoch - 1)
            while self.state.cursor.epoch < self.config.training.epochs:
                self._train_epoch(self.plan(self.state.cursor.epoch))
        return self.state

    def plan(self, epoch: int) -> EpochPlan:
        storage = self.config.storage
        return make_plan(storage.ordering, self.parts.partitioning.partitions, self.parts.capacity,
                         self.config.training.seed, epoch)

    def _train_epoch(self, plan: EpochPlan) -> None:
        steps = plan.steps[self.state.cursor.step:]
        for step, after in zip(steps, [*steps[1:], self._step_after(plan.epoch)]):
            self._meter.begin_step()
            resident = self._enter(step, after)
            self._train_step(plan.epoch, step, after, resident)
            self._meter.end_step(plan.epoch, step.index)
            self._move(Cursor(plan.epoch, step.index + 1))
        self._finish_epoch(plan.epoch)

    def _step_after(self, epoch: int) -> Step | None:
        """The step whose partitions may be loaded while the epoch's last one trains."""
        if is_last(self.config, epoch) or evaluation_due(self.config, epoch):
            return None
        return self.plan(epoch + 1).steps[0]

    def _enter(self, step: Step, after: Step | None) -> Resident:
        """Make the step's partitions resident, and begin to load the next step's."""
        buffer, partitioning = self.parts.buffer, self.parts.partitioning
        following = after.resident if after is not None and self.config.storage.prefetch else ()
        self.parts.leave(step.resident)
        buffer.enter(step.resident, [k for k in following if k not in step.resident])
        self.parts.arrive(step.resident)
        return Resident(step.resident, sum(partitioning.size(k) for k in step.resident), partitioning.rows,
                        np.array([buffer.base_row(k) for k in step.resident]))

    def _train_step(self, epoch: int, step: Step, after: Step | None, resident: Resident) -> None:
        windows = self._windows(step)
        ahead = [*windows[1:], *(self._windows(after)[:1] if after else [])]
        for window, following in zip(windows, [*ahead, None]):
            if self.state.cursor.batch < window.first_batch + window.batches:
                edges = self._meter.waiting(partial(self.parts.reader.take, window))
                if following is not None:
                    self.parts.reader.prefetch(following)
                self._train_window(epoch, edges, resident)

    def _windows(self, step: Step) -> list[Window]:
        return windows_of(step, self.parts.edges.counts, self.parts.memory.window_edges, self.config.training.batch_size)

    def _train_window(self, epoch: int, edges: WindowEdges, resident: Resident) -> None:
        window = edges.window
        to_rows(edges, self.parts.edges.counts, {k: self.parts.buffer.base_row(k) for bucket in window.buckets for k in bucket})
        self.parts.choose_hot(edges)
        place = (epoch, window.step, window.first_batch)
        order = shuffled(window.edges, generator_for(self.config.training.seed, "shuffle", *place))
        end = window.first_batch + window.batches
        while self.state.cursor.batch < end:
            self.parts.buffer.mark_dirty(resident.partitions)
            batches = self._batches(epoch, edges, order, max(self.state.cursor.batch, window.first_batch))
            for finished in run(batches, self.parts.stages(resident), self.config.training.staleness, self._pause):
                self._record(finished)
            if self._pause():
                self._checkpoint()
                self._stop_if_asked()

    def _batches(self, epoch: int, edges: WindowEdges, order: np.ndarray, start: int) -> Iterator[EdgeBatch]:
        for index, part in batch_slices(edges.window, self.config.training.batch_size, start):
            picks = order[part]
            src, dst, rel = (column[picks].astype(np.int64) for column in (edges.src, edges.dst, edges.rel))
            yield EdgeBatch(epoch, edges.window.step, index, src, dst, rel)

    def _record(self, finished: Finished) -> None:
        edges = finished.edges
        count = len(edges.src)
        self.state = replace(self.state, loss_sum=self.state.loss_sum + finished.loss * count, edges=self.state.edges + count)
        self._move(Cursor(edges.epoch, edges.step, edges.index + 1))
        self._meter.batch(edges, finished.loss, self.state)

    def _move(self, cursor: Cursor) -> None:
        self.state = replace(self.state, cursor=cursor)

    def _finish_epoch(self, epoch: int) -> None:
        evaluate = evaluation_due(self.config, epoch)
        self._meter.end_epoch(epoch, self.state)
        self.state = replace(self.state, cursor=Cursor(epoch + 1), loss_sum=0.0, edges=0, evaluate=evaluate)
        saved = checkpoint_due(self.config, epoch) or self._interrupt.signum is not None
        if saved:
            self._checkpoint()
        if evaluate:
            self._evaluate(epoch, saved)
        if self._interrupt.signum is not None and not saved:
            self._checkpoint()
        self._stop_if_asked()

    def _evaluate(self, epoch: int, saved: bool = True) -> None:
        """Rank a sample of the evaluation edges; the checkpoint just saved becomes the best if it is."""
        cursor, config = self.state.cursor, self.config
        self.parts.leave()
        self.parts.buffer.flush()
        result = self.parts.evaluate()
        files.make_folder(self.parts.run.evaluations)
        files.write_atomic(self.parts.run.evaluations / f"{cursor.name}.{result['split']}.json",
                           json.dumps(result, indent=1).encode())
        before, self.state = self.state, replace(self.state, evaluate=False)
        if saved and config.checkpoint.keep_best:
            self.state = before.ranked(result["mrr"])
        if self.state.best != before.best:
            checkpoints.mark_best(self.parts.run, cursor.name, config.checkpoint.keep)
        self._meter.evaluation(epoch, result)  # last: where this line stands, all of the above is done

    def _pause(self) -> bool:
        """Whether the pipeline should run empty: a checkpoint is due, or a signal came."""
        minutes = self.config.checkpoint.every_minutes
        due = minutes is not None and time.monotonic() - self._saved_at >= 60 * minutes
        return due or self._interrupt.signum is not None

    def _checkpoint(self) -> None:
        parts = self.parts
        parts.settle()
        checksums = {**self.state.checksums, **parts.buffer.flush()}
        self.state = replace(self.state, checksums=checksums, metrics_length=parts.metrics.sync())
        checkpoints.save(parts.run, self.state, parts.dense_state(), self.config.checkpoint.keep)
        self._saved_at = time.monotonic()

    def _stop_if_asked(self) -> None:
        if self._interrupt.signum is not None:
            name = self.state.cursor.name
            raise Interrupted(self._interrupt.signum, f"stopped at checkpoint {name}: "
                              f"`marius-lite resume {self.parts.run.path}` goes on from there")
