"""Measure a run and report it: lines of metrics.jsonl, a line in the log for each epoch, and the progress bar.

Figures that depend on the machine and the clock stand under ``machine``. All others are the same for every run of the same
configuration, interrupted or not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from marius_lite.checkpoint.state import Cursor, State
from marius_lite.config.planning import planning_of
from marius_lite.log import log, shows_bars
from marius_lite.metrics.progress import UNKNOWN, Progress
from marius_lite.metrics.timeline import Doing, Timeline
from marius_lite.metrics.usage import peak_rss, process_usage
from marius_lite.sizes import format_bytes
from marius_lite.train.parts import Parts
from marius_lite.train.work import Work
from marius_lite.types import SizedBatch, Step

EVALUATION_KEYS = (
    "split",
    "mrr",
    "hits@1",
    "hits@3",
    "hits@10",
    "mean_rank",
    "candidates",
    "filtered",
    "ties",
    "accuracy",
    "macro_f1",
    "micro_f1",
    "roc_auc",
    "average_precision",
    "log_loss",
    "count",
)
"""The figures of an evaluation that its line of metrics.jsonl has."""

QUIET = 30.0
"""Seconds without a line after which a run without a bar logs how far it is. They double after each such line."""

T = TypeVar("T")


class Meter:
    """Measures a run, from ``state`` on.

    ``others``: what else this process trains, where a run has several lanes. ``also``: returns what is counted beside.
    """

    def __init__(self, parts: Parts, state: State, others: Sequence[Work] = (), also: Callable[[], Mapping[str, float]] = dict):
        self._log = parts.metrics
        self._works, self._also = [parts.work, *others], also
        self._timeline = Timeline()
        self._edge_wait = 0.0
        self._unit = planning_of(parts.config).unit
        self._epochs, self._measure = parts.epochs, parts.config.training.metric
        self._sampled = parts.config.evaluation.max_edges
        self._finished = ""  # the epoch's line, which waits for its evaluation
        self._items = parts.work.items
        self._progress = Progress(
            self._items, self._unit, self._epochs, state.cursor.epoch * self._items + state.edges, parts.first
        )
        self._last_line, self._quiet = time.perf_counter(), QUIET
        self._epoch_start = self._reading(state.edges)
        self._step_start = self._epoch_start

    def waiting(self, take: Callable[[], T]) -> T:
        """Return the result of ``take``. Its time counts as waiting for I/O."""
        start = time.perf_counter()
        result = take()
        self._edge_wait += time.perf_counter() - start
        self._timeline.add("wait", start)
        return result

    def during(self, what: Doing) -> AbstractContextManager[None]:
        """Note how long a block of the trainer took."""
        return self._timeline.during(what)

    def batch(self, batch: SizedBatch, loss: float, state: State, rates: dict[str, float]) -> None:
        """Write a batch's line and move the bar. ``rates``: the learning rates, where they are new."""
        self._log.write("batch", batch.epoch, batch.step, batch.index, loss=loss, edges=batch.size, **_given(lr=rates))
        self._progress.batch(batch.epoch, batch.size, state.loss_sum / state.edges, self._waited)
        if time.perf_counter() - self._last_line >= self._quiet and not shows_bars():
            self._tell_midway(batch.epoch, state)

    def begin_step(self) -> None:
        self._step_start = self._reading(0)

    def end_step(self, epoch: int, step: Step) -> None:
        """Write a step's lines."""
        machine = self._since(self._step_start)
        self._log.write("step", epoch, step.index, 0, machine=machine)
        self._timeline.add("step", self._step_start["seconds"])
        self._write_timeline(Cursor(epoch, step.index), resident=step.resident, trained=step.trained)
        log.debug(
            "epoch %d of %d, step %d: %.1f s, waiting for I/O %s",
            epoch + 1,
            self._epochs,
            step.index,
            machine["seconds"],
            _share(machine),
        )

    def end_epoch(self, epoch: int, state: State) -> None:
        """Write an epoch's line of metrics. `tell` logs it."""
        machine = self._since(self._epoch_start)
        machine["edges_per_s"] = (state.edges - self._epoch_start["edges"]) / max(machine["seconds"], 1e-9)
        loss = state.loss_sum / max(state.edges, 1)
        self._log.write("epoch", epoch, 0, 0, loss=loss, edges=state.edges, machine=machine)
        self._finished = (
            f"loss {loss:.4f}, {machine['edges_per_s']:,.0f} {self._unit}/s, {machine['seconds']:.1f} s, "
            f"waiting for I/O {_share(machine)}"
        )
        self._epoch_start = self._reading(0)

    def evaluation(self, epoch: int, result: dict[str, Any]) -> None:
        """Write an evaluation's line of metrics. `tell` logs its figure."""
        values = {key: result[key] for key in EVALUATION_KEYS if key in result}
        self._log.write("evaluation", epoch, 0, 0, **values, machine={"peak_rss": peak_rss()})
        value = result[self._measure]
        figure = f"{result['split']} {self._measure} {'none' if value is None else f'{value:.4f}'}"
        if result.get("count") == self._sampled:
            figure += f" (of {self._sampled:,} edges)"
        self._finished = f"{self._finished}, {figure}" if self._finished else figure
        self._epoch_start = self._reading(0)

    def tell(self, epochs: int) -> None:
        """Log a line about the last of the ``epochs`` that are finished, if there is anything new about it."""
        if self._finished:
            left = self._progress.left()
            log.info(
                "epoch %d of %d: %s%s, peak memory %s",
                epochs,
                self._epochs,
                self._finished,
                "" if left == UNKNOWN else f", {left} left",
                format_bytes(peak_rss()),
            )
            self._last_line = time.perf_counter()
        self._finished = ""

    def _tell_midway(self, epoch: int, state: State) -> None:
        log.info(
            "epoch %d of %d: %.0f%% of its %s trained, loss %.4f, %s left",
            epoch + 1,
            self._epochs,
            100 * state.edges / max(self._items, 1),
            self._unit,
            state.loss_sum / state.edges,
            self._progress.left(),
        )
        self._last_line, self._quiet = time.perf_counter(), 2 * self._quiet

    def finish(self, at: Cursor) -> None:
        """Write what was done since the last line, at the end of training."""
        self._write_timeline(at)

    def close(self) -> None:
        self._progress.close()

    def _write_timeline(self, at: Cursor, **values: Any) -> None:
        taken = self._timeline.take(each for work in self._works for each in work.take_past())
        self._log.write("timeline", at.epoch, at.step, at.batch, machine={**taken, **values})

    def _waited(self) -> float:
        return self._edge_wait + self._counters()["wait_s"]

    def _counters(self) -> dict[str, float]:
        counted = [*(work.counters() for work in self._works), self._also()]
        return {key: sum(each.get(key, 0) for each in counted) for key in {**counted[0], **counted[-1]}}

    def _reading(self, edges: int) -> dict[str, float]:
        counters = self._counters()
        return {
            "seconds": time.perf_counter(),
            "edges": edges,
            **process_usage(),
            **counters,
            "wait_s": counters["wait_s"] + self._edge_wait,
        }

    def _since(self, start: dict[str, float]) -> dict[str, float]:
        now = self._reading(0)
        change = {key: now[key] - start[key] for key in now if key not in ("edges", "peak_rss")}
        return {**{key: round(value, 4) for key, value in change.items()}, "peak_rss": now["peak_rss"]}


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value}


def _share(machine: dict[str, float]) -> str:
    return f"{machine['wait_s'] / max(machine['seconds'], 1e-9):.0%}"
