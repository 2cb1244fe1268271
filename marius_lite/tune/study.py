"""The trials of each round, kept by Optuna in one journal on disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marius_lite import files
from marius_lite.config.metric import LESS_IS_BETTER
from marius_lite.errors import UserError
from marius_lite.seeds import seed_for
from marius_lite.tune.space import Choices, Space, Span
from marius_lite.tune.step import step
from marius_lite.tune.trial import Outcome

if TYPE_CHECKING:
    import optuna

JOURNAL = "trials.journal"
STARTUP = 10
"""Trials that end before TPE is guided by them: it draws at random until then."""


class _Alone:
    """The journal's lock: the search's folder is locked already, and only the search writes."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


class Trials:
    """The trials of one round. ``space``: what is searched."""

    def __init__(self, folder: Path, number: int, space: Space, metric: str, seed: int):
        optuna = _optuna()
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        self._space, self._seed, self._number = space, seed, number
        storage = JournalStorage(JournalFileBackend(str(folder / JOURNAL), lock_obj=_Alone()))  # type: ignore[arg-type]
        self.less = metric in LESS_IS_BETTER
        direction = "minimize" if self.less else "maximize"
        self._study = optuna.create_study(storage=storage, study_name=f"round {number}", direction=direction, load_if_exists=True)

    @property
    def all(self) -> list[optuna.trial.FrozenTrial]:
        """All trials, those that wait to be run too, by number."""
        return list(self._study.get_trials(deepcopy=False))

    def of_state(self, name: str) -> list[optuna.trial.FrozenTrial]:
        """The trials of a state: WAITING, RUNNING, COMPLETE or FAIL."""
        return [trial for trial in self.all if trial.state.name == name]

    def add(self, point: Mapping[str, Any], origin: int | None) -> None:
        """Add a trial to be run. ``origin``: the trial of the round before that it is of; a trial of it is added once."""
        if not any(trial.user_attrs.get("origin", -1) == origin for trial in self.all):
            self._enqueue(point, {"origin": origin})

    def _enqueue(self, point: Mapping[str, Any], facts: dict[str, Any]) -> None:
        coded = {key: _code(self._space[key], value) for key, value in point.items()}
        self._study.enqueue_trial(coded, user_attrs=facts)

    def ask(self) -> tuple[int, dict[str, Any]]:
        """Return the number and the point of a trial that waits, or else of a new one. It counts as running from then on.

        Every second new one is a step from the best so far. What is drawn depends on the seed, the trial's number and the trials
        that have ended. So a search that was killed draws the same.
        """
        optuna = _optuna()
        number, best = len(self.all), self.best()
        drawn = seed_for(self._seed, "tune", self._number, number) % (1 << 32)
        if number % 2 and best and not self.of_state("WAITING"):
            self._enqueue(step(self._space, self.point(best[0].params), np.random.default_rng(drawn)), {})
        self._study.sampler = optuna.samplers.TPESampler(n_startup_trials=STARTUP, seed=drawn, constant_liar=True)
        trial = self._study.ask({key: _distribution(searched) for key, searched in self._space.items()})
        return trial.number, self.point(trial.params)

    def tell(self, number: int, outcome: Outcome, **facts: Any) -> None:
        """Say what came of a trial."""
        optuna = _optuna()
        identity = self.all[number]._trial_id
        told = {**facts, "epochs": outcome.epochs, **({"error": outcome.error} if outcome.error else {})}
        for key, value in told.items():
            self._study._storage.set_trial_user_attr(identity, key, value)
        if outcome.value is None:
            self._study.tell(number, state=optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(number, outcome.value)

    def best(self) -> list[optuna.trial.FrozenTrial]:
        """The trials with a figure, the best first; of equal ones the earliest."""
        sign = 1 if self.less else -1
        return sorted(self.of_state("COMPLETE"), key=lambda trial: (sign * (trial.value or 0.0), trial.number))

    def point(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the point of a trial's parameters."""
        return {key: _decode(self._space[key], value) for key, value in params.items()}


@contextmanager
def quiet() -> Iterator[None]:
    """Let Optuna say nothing by itself until the block ends."""
    logging = _optuna().logging
    before = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        logging.set_verbosity(before)


def mend(folder: Path) -> None:
    """Cut off a last line of the journal that a crash left unfinished."""
    path = folder / JOURNAL
    if path.exists():
        whole = path.read_bytes().rfind(b"\n") + 1
        if whole < path.stat().st_size:
            files.truncate(path, whole)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise UserError("tune needs Optuna, which is not installed: pip install 'marius-lite[tune]'") from None
    return optuna


def _distribution(searched: Choices | Span) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(searched, Choices):
        return CategoricalDistribution(tuple(range(len(searched.values))))
    if searched.whole:
        return IntDistribution(int(searched.low), int(searched.high), log=searched.log)
    return FloatDistribution(searched.low, searched.high, log=searched.log)


def _code(searched: Choices | Span, value: Any) -> Any:
    """Return what the journal has for a value: of choices, the place. So choices may be of any type."""
    return searched.values.index(value) if isinstance(searched, Choices) else value


def _decode(searched: Choices | Span, value: Any) -> Any:
    return searched.values[value] if isinstance(searched, Choices) else value
