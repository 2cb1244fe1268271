"""Train a run, from its cursor to its last epoch.

for each epoch:  plan -> for each step:  partitions resident -> for each window:  batches through the pipeline
checkpoints at epoch ends, on a clock between two batches, and when a signal asks to stop
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

from marius_lite import files
from marius_lite.checkpoint import save as checkpoints
from marius_lite.checkpoint.state import Cursor, State
from marius_lite.config.schedule import VANISHED, checkpoint_due, evaluation_due, loads_pause, may_ease
from marius_lite.errors import NotFinite, RunError
from marius_lite.log import log
from marius_lite.nn.products import products_in
from marius_lite.optim.schedule import Rated, factor
from marius_lite.pipeline.batches import Finished, run
from marius_lite.processes.interrupt import Interrupt, Interrupted
from marius_lite.sampling.windows import Window
from marius_lite.tasks.task import OpenWindow
from marius_lite.train.meter import Meter
from marius_lite.train.parts import Parts
from marius_lite.types import EpochPlan, Step


class Trainer:
    """Trains the ``parts`` of a run, from ``state`` on. ``others``: parts that are measured with them. ``also``: see `Meter`."""

    writes = True
    """Whether this process writes the run's files."""

    def __init__(self, parts: Parts, state: State, others: Sequence[Parts] = (), also: Callable[[], Mapping[str, float]] = dict):
        self.parts, self.state = parts, state
        self.config = parts.config
        self._meter = Meter(parts, state, [each.work for each in others], also)
        self._interrupt = Interrupt()
        self._saved_at = time.monotonic()

    def train(self) -> State:
        """Train until all epochs are done, or the figure no longer gets better. Returns the last state.

        Raises RunError where the model diverges, Interrupted after a signal and its checkpoint.
        """
        with self._interrupt, closing(self._meter):
            if self.state.evaluate:
                self._evaluate(self.state.cursor.epoch - 1)
                self._meter.tell(self.state.cursor.epoch)
            try:
                while self.state.cursor.epoch < self.config.training.epochs and not self._stalled():
                    self._train_epoch(self.parts.work.plan(self.state.cursor.epoch))
            except NotFinite as error:
                raise self._diverged(error) from error
            if self._stalled():
                log.info("stopped early: the last %d evaluations were no better than one before", self.state.since)
            self._meter.finish(self.state.cursor)
        return self.state

    def _diverged(self, error: NotFinite) -> RunError:
        at = self.state.cursor
        return RunError(
            f"{error}: the model diverged by epoch {at.epoch}, step {at.step}, batch {at.batch} and is not saved: "
            "train anew with lower learning rates (optimizer.rows.lr, optimizer.dense.lr); earlier checkpoints stay "
            f"in {self.parts.run.name}"
        )

    def _train_epoch(self, plan: EpochPlan) -> None:
        steps = plan.steps[self.state.cursor.step :]
        for step, after in zip(steps, [*steps[1:], self._step_after(plan.epoch)]):
            self._meter.begin_step()
            with self._meter.during("wait"):
                self.parts.work.enter(step, after if self.config.storage.prefetch else None)
            self._train_step(plan.epoch, step, after)
            self._meter.end_step(plan.epoch, step)
            self._move(Cursor(plan.epoch, step.index + 1))
        self._finish_epoch(plan.epoch)

    def _step_after(self, epoch: int) -> Step | None:
        """Return the step whose partitions may load while the epoch's last one trains; None where loading pauses."""
        return None if loads_pause(self.config, epoch) else self.parts.work.plan(epoch + 1).steps[0]

    def _train_step(self, epoch: int, step: Step, after: Step | None) -> None:
        work = self.parts.work
        for window, following in work.windows_in_turn(epoch, step, after):
            if self.state.cursor.batch < window.end:
                self._train_window(self._meter.waiting(partial(work.open, epoch, window, following)))

    def _train_window(self, opened: OpenWindow) -> None:
        window = opened.window
        rates = self._set_rates(window)
        while self.state.cursor.batch < window.end:
            batches = opened.batches(max(self.state.cursor.batch, window.first_batch))
            # Closed whatever happens: the thread that prepares batches must end before the rows that it reads go.
            saves = self.parts.work.saves_under_way
            stop = self._interrupted if saves else self._pause
            batches_done = run(batches, self.parts.work.stages(), self.config.training.staleness, stop, self._interrupted)
            with closing(batches_done) as trained, products_in(self.config.training.precision):
                for finished in trained:
                    self._record(finished, rates if finished.batch.index == window.first_batch else {})
                    if saves and self._due():
                        self._checkpoint()
            if stop():
                self._checkpoint()
                self._stop_if_asked()

    def _set_rates(self, window: Window) -> dict[str, float]:
        """Set learning rates and the regularizer as at the window's beginning, even where the run goes on in the middle of it.

        Returns the learning rates, by what they are of.
        """
        return self._set_rates_for(self.state.edges - window.before(self.state.cursor.batch), window.edges)

    def _set_rates_for(self, before: int, edges: int) -> dict[str, float]:
        """Set what a schedule says of so many ``edges`` of an epoch, where so many come ``before`` them."""
        state, config, items = self.state, self.config, max(1, self.parts.work.items)
        first = self.parts.first_epoch
        done = state.cursor.epoch - first + before / items
        rate = factor(config.optimizer.schedule, config.training.epochs - first, done, edges / items, state.drops)
        for each in self._rated():
            each.rate = rate
        if self.parts.regularized is not None:
            self.parts.regularized.n3_share = config.regularizer.decay**state.weakened
        rows = {"rows": config.optimizer.rows.lr * rate} if self.parts.work.rows.learned else {}
        return {**rows, "dense": config.optimizer.dense.lr * rate}

    def _rated(self) -> Iterable[Rated]:
        """Return all that has a learning rate."""
        return self.parts.rates

    def _record(self, finished: Finished, rates: dict[str, float]) -> None:
        batch = finished.batch
        loss_sum = self.state.loss_sum + finished.loss * batch.size
        cursor = Cursor(batch.epoch, batch.step, batch.index + 1)
        self.state = replace(self.state, cursor=cursor, loss_sum=loss_sum, edges=self.state.edges + batch.size)
        self._meter.batch(batch, finished.loss, self.state, rates)

    def _move(self, cursor: Cursor) -> None:
        self.state = replace(self.state, cursor=cursor)

    def _finish_epoch(self, epoch: int) -> None:
        evaluate = evaluation_due(self.config, epoch)
        self._meter.end_epoch(epoch, self.state)
        self.state = replace(self.state, cursor=Cursor(epoch + 1), loss_sum=0.0, edges=0, evaluate=evaluate)
        saved = checkpoint_due(self.config, epoch) or self._interrupted()
        if saved:
            self._checkpoint()
        if evaluate:
            self._evaluate(epoch, saved)
        self._meter.tell(epoch + 1)
        if not saved and (self._interrupted() or self._stalled()):
            self._checkpoint()
        self._stop_if_asked()

    def _evaluate(self, epoch: int, saved: bool = True) -> None:
        """Evaluate as the configuration says. The checkpoint just ``saved`` becomes the best if its figure is."""
        cursor, config = self.state.cursor, self.config
        with self._meter.during("evaluation"):
            result = self._figures()
        if self.writes:
            files.make_folder(self.parts.run.evaluations)
            files.write_atomic(
                self.parts.run.evaluations / f"{cursor.name}.{result['split']}.json", json.dumps(result, indent=1).encode()
            )
        metric = config.training.metric
        value = result[metric]
        before, self.state = self.state, replace(self.state, evaluate=False)
        if saved and config.checkpoint.keep_best:
            self.state = before.ranked(metric, value)
        schedule, regularizer = config.optimizer.schedule, config.regularizer
        self._ease()
        self.state = self.state.measured(
            metric,
            value,
            schedule.patience if schedule.name == "plateau" else 0,
            regularizer.decay < 1 and regularizer.is_on,
            counts=cursor.epoch > max(schedule.warmup if schedule.patient_warmup else 0, config.first_epochs),
        )
        if self.state.best != before.best and self.writes:
            checkpoints.mark_best(self.parts.run, cursor.name, config.checkpoint.keep)
        self._meter.evaluation(epoch, result)  # last: where this line stands, all of the above is done

    def _ease(self) -> None:
        """Make the regularizer weaker where it is so strong that the model cannot begin to learn."""
        model, state, decay = self.parts.regularized, self.state, self.config.regularizer.decay
        if model is None or not may_ease(self.config, state.cursor.epoch, self.parts.work.items, state.weakened):
            return
        if model.largest_factor() < VANISHED:
            self.state = state.eased()
            log.info("the regularizer lets no relation grow: from now on it is %g of what it was", decay)

    def _figures(self) -> dict[str, Any]:
        """Return the figures that the configuration asks for."""
        return self.parts.work.evaluate()

    def _stalled(self) -> bool:
        """Return whether none of the last ``training.early_stopping`` evaluations was better than the best before them."""
        patience = self.config.training.early_stopping
        return bool(patience) and self.state.since >= patience

    def _pause(self) -> bool:
        """Return whether the pipeline should run empty, because a checkpoint is due or a signal came."""
        return self._due() or self._interrupted()

    def _interrupted(self) -> bool:
        return self._signum() is not None

    def _signum(self) -> int | None:
        """Return the number of the signal that asks to stop, if any did."""
        return self._interrupt.signum

    def _due(self) -> bool:
        """Return whether it is time for a checkpoint by the clock."""
        minutes = self.config.checkpoint.every_minutes
        return minutes is not None and time.monotonic() - self._saved_at >= 60 * minutes

    def _checkpoint(self) -> None:
        parts = self.parts
        if parts.first_epoch and self.state.cursor == Cursor(parts.first_epoch):
            return  # nothing is trained of this stage: the checkpoint is the one that ended the stage before
        with self._meter.during("checkpoint"):
            checksums = {**self.state.checksums, **self._flush()}
            parts.require_finite()
            self.state = replace(self.state, checksums=checksums)
            self._save()
        self._saved_at = time.monotonic()

    def _flush(self) -> dict[int, int]:
        """Write the changed partitions. Returns the checksums of their files."""
        return self.parts.work.flush()

    def _save(self) -> None:
        """Write a checkpoint of the state, once all rows are written."""
        self.state = replace(self.state, metrics_length=self.parts.metrics.sync())
        checkpoints.save(self.parts.run, self.state, self.parts.dense_state(), self.config.checkpoint.keep)

    def _stop_if_asked(self) -> None:
        if (signum := self._signum()) is not None:
            name = self.state.cursor.name
            raise Interrupted(
                signum, f"stopped at checkpoint {name}: `marius-lite resume {self.parts.run.name}` goes on from there"
            )
