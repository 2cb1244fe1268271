"""What a search came to, for people and for `train`: the best settings, and a table of all trials."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from marius_lite import files
from marius_lite.config.metric import LESS_IS_BETTER
from marius_lite.tune.plan import SearchPlan
from marius_lite.tune.study import Trials

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

BEST, CSV, MARKDOWN = "best.yaml", "trials.csv", "trials.md"
COLUMNS = ("round", "trial", "of", "edges", "epochs", "seconds", "state")


def write_results(plan: SearchPlan, studies: list[Trials], folder: Path) -> dict[str, Any]:
    """Write the files, and return the result: the figures, the best settings, and where they are. ``studies``: of rounds in which
    some trial came to a figure, from the first on."""
    rows = [_row(plan, number, trial) for number, study in enumerate(studies) for trial in study.all]
    _write_tables(plan, rows, folder)
    best = studies[-1].best()[0]
    settings = list(best.user_attrs["settings"])
    config = plan.config(settings, plan.base.training.epochs).model_dump(mode="json", exclude_defaults=True)
    run = folder / "runs" / f"{len(studies)}-{best.number}"
    rounds = f"round {len(studies)} of {len(plan.rounds)}"
    title = f"# {plan.metric} {best.value:.4f} on the validation split, trial {best.number} of {rounds}\n"
    files.write_atomic(folder / BEST, (title + yaml.safe_dump(config, sort_keys=False)).encode())
    first = next((trial for trial in studies[-1].best() if _is_base(studies, len(studies) - 1, trial)), None)
    return {
        f"best_{plan.metric}": best.value,
        **({f"{plan.file}_{plan.metric}": first.value} if first and not plan.left_out else {}),
        "settings": settings,
        "epochs": best.user_attrs["epochs"],
        "cut": bool(best.user_attrs.get("cut")),
        "trials": [len(study.all) for study in studies],
        "config": str(folder / BEST),
        **({"run": str(run)} if run.exists() else {}),  # those of earlier rounds are removed
        "table": str(folder / MARKDOWN),
    }


def _is_base(studies: list[Trials], number: int, trial: FrozenTrial) -> bool:
    """Return whether a trial has the settings that the search began with."""
    origin = trial.user_attrs.get("origin", -1)
    return origin is None if number == 0 else _is_base(studies, number - 1, studies[number - 1].all[origin])


def _row(plan: SearchPlan, number: int, trial: FrozenTrial) -> dict[str, Any]:
    told = trial.user_attrs
    state = (
        "cut by time" if told.get("cut") else trial.state.name.lower() if not told.get("error") else f"failed: {told['error']}"
    )
    return {
        "round": number + 1,
        "trial": trial.number,
        "of": "" if told.get("origin") is None else told["origin"],
        "edges": told.get("edges", ""),
        "epochs": told.get("epochs", ""),
        "seconds": told.get("seconds", ""),
        "state": state,
        plan.metric: "" if trial.value is None else trial.value,
        **{key: json.loads(value) for key, _, value in (setting.partition("=") for setting in told.get("settings", ()))},
    }


def _write_tables(plan: SearchPlan, rows: list[dict[str, Any]], folder: Path) -> None:
    """Write the tables: CSV in the order of trials, Markdown by round and figure."""
    names = [*COLUMNS, plan.metric, *dict.fromkeys(key for row in rows for key in row if key not in (*COLUMNS, plan.metric))]
    out = io.StringIO()
    writer = csv.DictWriter(out, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    files.write_atomic(folder / CSV, out.getvalue().encode())
    shown = [name for name in names if name != plan.metric]
    shown.insert(2, plan.metric)
    sign = 1 if plan.metric in LESS_IS_BETTER else -1
    ranked = sorted(rows, key=lambda row: (-row["round"], row[plan.metric] == "", sign * (row[plan.metric] or 0), row["trial"]))
    lines = [_line(shown), _line(["---"] * len(shown)), *(_line([_shown(row.get(name, "")) for name in shown]) for row in ranked)]
    files.write_atomic(folder / MARKDOWN, ("\n".join(lines) + "\n").encode())


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
