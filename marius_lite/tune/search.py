"""Search for the settings that validate best: rounds of trials, each on more of the graph and for more epochs than the last.

FOLDER/search.json         what the search depends on
FOLDER/trials.journal      Optuna's journal of all rounds
FOLDER/cores/              datasets of cores, on which earlier rounds train
FOLDER/runs/               the runs of trials; of those that have ended only the best of the last round stays
FOLDER/best.yaml           the best settings, for `train --config`
FOLDER/trials.csv, .md     all trials
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from marius_lite import files
from marius_lite.config import machine
from marius_lite.counted import counted
from marius_lite.errors import RunError, UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.versions import pinned
from marius_lite.log import log
from marius_lite.printable import printable
from marius_lite.tune import trial as trials
from marius_lite.tune.clock import Clock
from marius_lite.tune.cores import NODE_BYTES, reduced
from marius_lite.tune.plan import SearchPlan, TuneOptions, keep_record, make_plan, require_search
from marius_lite.tune.rounds import Round, kept
from marius_lite.tune.study import Trials, mend, quiet
from marius_lite.tune.tables import write_results
from marius_lite.tune.trial import Job, Outcome

POLL = 0.5
"""Seconds between two looks at the clock."""
LEAST_TRIALS = 8
"""Trials that the first round's time is for, at least: else one that takes long leaves no time to search."""


def tune_dataset(dataset: Path | str, folder: Path | str, **options: Any) -> dict[str, Any]:
    """Search for settings of a dataset, in ``folder``. A search that was interrupted goes on. ``options``: of `TuneOptions`.

    Returns the best figure on the validation split, its settings and files. The test split is not read. With ``trials``, one
    process and the same seed the result is the same. Raises UserError for wrong input, RunError where no trial came to a figure.
    """
    data, where = Dataset.open(dataset), Path(folder)
    plan = make_plan(data, TuneOptions(**options))
    require_search(where)
    files.make_folder(where / "runs")
    with files.lock(where / ".lock"), quiet():
        keep_record(plan, where)
        mend(where)
        return Tuning(plan, where).run()


@dataclass
class Running:
    """A trial that runs: its number, job, settings, process, when it began, and whether it was told to stop."""

    number: int
    job: Job
    process: ForkServerProcess
    began: float
    stopped: bool = False


class Tuning:
    """Runs the rounds of a plan in a folder."""

    def __init__(self, plan: SearchPlan, folder: Path):
        self.plan, self.folder = plan, folder
        self._clock = Clock(folder, plan.options.seconds)
        self.studies = [Trials(folder, each.number, plan.space, plan.metric, plan.options.seed) for each in plan.rounds]
        self._cores: dict[float, Dataset] = {}

    def run(self) -> dict[str, Any]:
        """Run all rounds, and write what came of them."""
        plan = self.plan
        if plan.left_out:
            log.warning(
                "the search space has not all settings of %s: %s. The first trial has the nearest values, so the result says no "
                "figure of %s itself",
                *(
                    printable(text)
                    for text in (plan.file, ", ".join(map("{0[0]} {0[1]}".format, plan.left_out.items())), plan.file)
                ),
            )
        if plan.reduces_graph and plan.dataset.manifest.nodes * NODE_BYTES <= machine.available_memory() // 4:
            files.make_folder(self.folder / "cores")
            self._cores = reduced(plan.dataset, [each.edges for each in plan.rounds], self.folder / "cores")
        for each in plan.rounds:
            self._clear(each)
            self._fill(each)
            self._round(each)
            if not self.studies[each.number].best():
                return self._of_round_before(each)
        result = write_results(self.plan, self.studies, self.folder)
        if result["cut"]:
            log.warning(
                "time was over after %d of the best trial's %d epochs: so short a search prefers settings that learn fast. "
                "`marius-lite resume %s` goes on with it; more --time compares what trials come to in the end",
                result["epochs"],
                plan.base.training.epochs,
                printable(str(result["run"])),
            )
        return result

    def _of_round_before(self, each: Round) -> dict[str, Any]:
        """Write what came of the rounds before one without a figure. Raises RunError where there is none."""
        if not each.number:
            raise RunError(self._nothing(each))
        log.warning("%s. What is written is the best of round %d, which saw less", printable(self._nothing(each)), each.number)
        return write_results(self.plan, self.studies[: each.number], self.folder)

    def _nothing(self, each: Round) -> str:
        failed = [trial.user_attrs.get("error") for trial in self.studies[each.number].all]
        first = next(
            (error for error in failed if error),
            "time was over before its first evaluation: give the command again with more --time",
        )
        return f"{self.folder}: no trial of round {each.number + 1} came to a figure: {first}"

    def _most(self, each: Round) -> int | None:
        """Return how many trials a round has; None where time alone decides."""
        if each.number:
            return kept(len(self.studies[each.number - 1].of_state("COMPLETE")), self.plan.options.reduction)
        return self.plan.options.trials

    def _fill(self, each: Round) -> None:
        """Add the trials that go on from the round before; to the first round, the settings that the search begins with."""
        study = self.studies[each.number]
        if not each.number:
            study.add(self.plan.first_point(), None)
            return
        before = self.studies[each.number - 1]
        for trial in before.best()[: self._most(each)]:
            study.add(before.point(trial.params), trial.number)

    def _clear(self, each: Round) -> None:
        """Remove runs that belong to no trial of this round: a kill may have left them."""
        if each is not self.plan.rounds[-1]:
            running = {self._run(each, trial.number).name for trial in self.studies[each.number].of_state("RUNNING")}
            for path in (self.folder / "runs").iterdir():
                if path.name.startswith(f"{each.number + 1}-") and path.name.split(".")[0] not in running:
                    files.remove_tree(path)

    def _run(self, each: Round, number: int) -> Path:
        return self.folder / "runs" / f"{each.number + 1}-{number}"

    def _round(self, each: Round) -> None:
        """Run the trials of a round, as many at a time as there are processes, until they or the time are over."""
        study, options = self.studies[each.number], self.plan.options
        left = [(trial.number, study.point(trial.params)) for trial in study.of_state("RUNNING")]
        running: list[Running] = []
        try:
            while True:
                over = self._over(each, running)
                while len(running) < options.processes and not over and (left or self._more(each)):
                    number, point = left.pop(0) if left else study.ask()
                    running += self._start(each, number, point)
                if not running:
                    for number, _ in left:
                        study.tell(number, Outcome(None, 0, "time was over"))
                    return
                connection.wait([one.process.sentinel for one in running], POLL)
                for one in [one for one in running if not one.process.is_alive()]:
                    running.remove(one)
                    self._end(each, one)
                for one in running:
                    if not one.stopped and (over or self._had_its_part(each, one)):
                        one.stopped = True
                        one.process.terminate()  # it finishes its batch and saves a checkpoint
        finally:
            for one in running:
                one.process.terminate()
            for one in running:
                one.process.join()

    def _over(self, each: Round, running: list[Running]) -> bool:
        """Return whether the time of a round is over: its part of it, or all where no trial has come to a figure yet."""
        if self._clock.left((each.number + 1) / len(self.plan.rounds)) > 0:
            return False
        known = self.studies[each.number].best() or any(self._figure(one) is not None for one in running)
        return bool(known) or self._clock.left(1.0) <= 0

    def _figure(self, one: Running) -> float | None:
        return trials.outcome(one.job, self.plan.metric).value

    def _had_its_part(self, each: Round, one: Running) -> bool:
        """Return whether a trial has had an equal part of its round's time, and has come to a figure."""
        if (whole := self._clock.limit) is None:
            return False
        part = whole / len(self.plan.rounds) * self.plan.options.processes / (self._most(each) or LEAST_TRIALS)
        return time.monotonic() - one.began > part and self._figure(one) is not None

    def _more(self, each: Round) -> bool:
        """Return whether a round has trials that have not begun."""
        study, most = self.studies[each.number], self._most(each)
        if study.of_state("WAITING"):
            return True
        return not each.number and (most is None or len(study.all) < most)

    def _start(self, each: Round, number: int, point: dict[str, Any]) -> list[Running]:
        """Start a trial. Its settings may contradict each other: it has failed then, and nothing runs."""
        settings = self.plan.settings(point)
        try:
            config = self.plan.config(settings, each.epochs_of(self.plan.base.training.epochs))
        except UserError as error:
            self.studies[each.number].tell(number, Outcome(None, 0, str(error)), settings=settings)
            return []
        data = self._cores.get(each.edges, self.plan.dataset)
        job = Job(pinned(data.path), self._run(each, number), config)
        return [Running(number, job, trials.start(job), time.monotonic())]

    def _end(self, each: Round, one: Running) -> None:
        """Note what came of a trial, and remove its run, unless it is the best of the last round."""
        outcome = trials.outcome(one.job, self.plan.metric)
        code = one.process.exitcode
        if code and not one.stopped and outcome.error is None:
            outcome = Outcome(None, outcome.epochs, f"its process ended with {code}: see {one.job.run}.log")
        study = self.studies[each.number]
        study.tell(
            one.number,
            outcome,
            settings=self.plan.settings(study.point(study.all[one.number].params)),
            seconds=round(time.monotonic() - one.began, 1),
            edges=self._cores[each.edges].manifest.edges["train"]
            if each.edges in self._cores
            else self.plan.dataset.manifest.edges["train"],
            **({"cut": True} if one.stopped else {}),
        )
        figure = outcome.error or f"{self.plan.metric} {'none' if outcome.value is None else f'{outcome.value:.4f}'}"
        log.info(
            printable(
                f"round {each.number + 1} of {len(self.plan.rounds)}, trial {one.number}: {figure}"
                f"{' when its time was over' if one.stopped else ''}, {counted(outcome.epochs, 'epoch')}, "
                f"{time.monotonic() - one.began:.1f} s"
            )
        )
        best = study.best()
        for trial in study.all:
            ended = trial.state.is_finished() and not (outcome.error and trial.number == one.number)
            if ended and (each is not self.plan.rounds[-1] or trial.number != best[0].number):
                trials.forget(self._run(each, trial.number))
