"""What a search does, fixed before it begins, so that it can go on after a kill: settings, space, rounds, budget."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from marius_lite import files
from marius_lite.config import machine, presets
from marius_lite.config.load import check, load
from marius_lite.config.planning import planning_of
from marius_lite.config.schema import Config
from marius_lite.config.weight_power import power_of
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.defaults import suitable
from marius_lite.graph.facts import facts_of
from marius_lite.graph.weight_power import with_power
from marius_lite.tune.rounds import Round, rounds
from marius_lite.tune.space import Space, applied, default_space, first_point, left_out, read_space

RECORD = "search.json"
BEFORE_RECORD = {".lock", "runs"}
"""What a search has made when it writes its record."""


@dataclass(frozen=True)
class TuneOptions:
    """``file``: a YAML file or `preset:NAME` to begin with, None for the preset that suits. ``sets``: settings of all trials.

    ``space``: a YAML file that changes the search space. ``trials``: of the first round, or ``seconds``: for all rounds.
    ``processes``: trials at a time. ``rounds``, ``reduction``: see `tune.rounds`.
    """

    file: str | None = None
    sets: tuple[str, ...] = ()
    space: Path | None = None
    trials: int | None = None
    seconds: float | None = None
    processes: int = 1
    rounds: int = 3
    reduction: int = 4
    seed: int = 0


@dataclass(frozen=True)
class SearchPlan:
    """A search with all that it depends on. ``file``, ``sets``: what trials begin with. ``base``: the configuration there."""

    dataset: Dataset
    file: str
    sets: tuple[str, ...]
    base: Config
    space: Space
    rounds: list[Round]
    options: TuneOptions

    @property
    def metric(self) -> str:
        """The figure that is searched for, of the validation split."""
        asked, planning = self.base.training.metric, planning_of(self.base)
        return planning.metric(facts_of(self.dataset, self.base, cuda=False)) if asked == "auto" else asked

    @property
    def reduces_graph(self) -> bool:
        """Whether rounds train on cores: features, labels and neighbourhoods are those of the whole graph."""
        return planning_of(self.base).reduces_graph(self.base)

    def settings(self, point: dict[str, Any]) -> list[str]:
        """Return the settings of a point that a trial sets, beside those that all have."""
        decoder = [f"model.decoder={point['model.decoder']}"] if "model.decoder" in point else []
        return applied(point, load(self.file, [*self.sets, *decoder]))

    def config(self, settings: Sequence[str], epochs: int) -> Config:
        """Return the configuration of a trial. Raises UserError where its settings contradict each other."""
        over = [*self.sets, *settings, f"training.epochs={epochs}", "evaluation.split=valid"]
        config = load(self.file, over)
        return self._share(config) if self.options.processes > 1 else config

    def _share(self, config: Config) -> Config:
        """Return the configuration with a share of the machine, where several trials run at a time."""
        at_once = self.options.processes
        change = {}
        if config.training.threads == "auto":
            change["training"] = {"threads": max(1, machine.cpu_threads() // at_once)}
        if config.storage.memory == "auto":
            change["storage"] = {"memory": machine.available_memory() // (2 * at_once)}
        return check(presets.merged(config.model_dump(mode="json"), change), "configuration")

    def first_point(self) -> dict[str, Any]:
        """Return the point of the configuration that trials begin with, or the nearest to it."""
        return first_point(self.space, self.base)

    @property
    def left_out(self) -> dict[str, Any]:
        """The settings of the configuration that trials begin with which none of them has: the space lacks these values."""
        return left_out(self.space, self.base)


def make_plan(dataset: Dataset, options: TuneOptions) -> SearchPlan:
    """Return what a search does. Raises UserError for options that do not fit together, or the dataset."""
    _check(options)
    if not (dataset.node_counts if dataset.labels else dataset.manifest.edges).get("valid"):
        raise UserError(
            f"{dataset.path}: has no validation split, by which trials are compared: preprocess with --split or --valid"
        )
    file, suited = suitable(dataset, options.file, options.sets)
    base = load(file, suited)
    if "weight" in dataset.manifest.carried and base.training.weight_power == "auto":
        suited = [*suited, f"training.weight_power={power_of(with_power(dataset, base)):g}"]  # found once, for all trials
        base = load(file, suited)
    if base.evaluation.split not in ("auto", "valid"):
        raise UserError(
            f"`evaluation.split` is {base.evaluation.split}: trials are compared on the validation split alone: leave it out"
        )
    planning_of(base)  # a task that is unknown is told here
    space = default_space(base, dataset.manifest.relations, str(file))
    fixed = {item.partition("=")[0].strip() for item in options.sets}
    space = read_space(options.space, {key: searched for key, searched in space.items() if key not in fixed})
    plan = SearchPlan(dataset, str(file), tuple(suited), base, space, [], options)
    return replace(plan, rounds=rounds(options.rounds, options.reduction, plan.reduces_graph))


def _check(options: TuneOptions) -> None:
    if (options.trials is None) == (options.seconds is None):
        raise UserError(
            "give either --trials N or --time T: how many settings the first round tries, or how long the search takes"
        )
    for name, value, least in (
        ("trials", options.trials, 1),
        ("time", options.seconds, 1),
        ("processes", options.processes, 1),
        ("rounds", options.rounds, 1),
        ("reduction", options.reduction, 2),
        ("seed", options.seed, 0),
    ):
        if value is not None and value < least:
            raise UserError(f"--{name} {value}: must be {least} or more")


def require_search(folder: Path) -> None:
    """Raise UserError where a folder holds something else than a search."""
    if folder.is_dir() and not (folder / RECORD).exists():
        others = sorted({path.name for path in folder.iterdir()} - BEFORE_RECORD)
        if others:
            raise UserError(f"{folder}: exists already and is no search: it has {others[0]}: choose another --output")


def keep_record(plan: SearchPlan, folder: Path) -> None:
    """Write what the search depends on, or compare it with what an interrupted one wrote. Raises UserError where it differs."""
    record = {
        "dataset": plan.dataset.fingerprint,
        "base": plan.base.model_dump(mode="json"),
        "sets": list(plan.options.sets),
        "space": {key: repr(searched) for key, searched in plan.space.items()},
        "rounds": plan.options.rounds,
        "reduction": plan.options.reduction,
        "trials": plan.options.trials,
        "seed": plan.options.seed,
    }
    path = folder / RECORD
    if not path.exists():
        files.write_atomic(path, json.dumps(record, indent=1).encode())
        return
    try:
        before = dict(files.read_json(path))
    except (OSError, ValueError, TypeError):
        raise UserError(f"{path}: damaged: choose another folder for the search") from None
    if changed := [key for key, value in record.items() if before.get(key) != value]:
        raise UserError(
            f"{folder}: has a search with other {', '.join(changed)}: give the same options to go on with it, or another --output"
        )
