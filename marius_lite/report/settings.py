"""Say how runs were set up: their settings, what differs from the defaults and from run to run, and where they ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from marius_lite.config.schema import Config
from marius_lite.report.page import details, paragraph, table
from marius_lite.report.subject import Subject
from marius_lite.sizes import format_bytes

AUTO = "auto"
OF_BYTES = ("storage.memory", "storage.packs_disk", "storage.cache", "storage.device_memory")


def differences(runs: Sequence[Subject]) -> str:
    """Return a table of the settings that are not the same in all runs, and of their datasets where these are not."""
    each = [_flat(run.config) for run in runs]
    keys = [key for key in each[0] if any(settings[key] != each[0][key] for settings in each)]
    rows = [[key, *(_value(key, settings[key]) for settings in each)] for key in keys]
    datasets = [str(run.record["dataset"]["fingerprint"]) for run in runs]
    if len(set(datasets)) > 1:
        rows.insert(0, ["dataset: figures are not to be compared", *(_dataset(run) for run in runs)])
    return table(["setting", *(run.name for run in runs)], rows) or paragraph("All settings are the same.")


def configuration(run: Subject) -> str:
    """Return what differs from the defaults, what was chosen where the default is `auto`, and all settings."""
    given, default = _flat(run.config), _flat(Config())
    changed = [
        [key, _value(key, value), _value(key, default[key])] for key, value in given.items() if value != default[key] != AUTO
    ]
    chosen = [[key, _value(key, value)] for key, value in given.items() if default[key] == AUTO]
    changes = [[change["at"], " ".join(change["set"])] for change in run.record.get("changes", [])]
    return "".join(
        [
            table(["differs from the default", "here", "default"], changed) or paragraph("Every setting is the default."),
            table(["changed by `resume`, from checkpoint", "setting"], changes),
            details(
                "Settings whose default is `auto`: chosen for the graph and the machine, or given",
                table(["setting", "here"], chosen),
            ),
            details("All settings", table(["setting", "here"], [[key, _value(key, value)] for key, value in given.items()])),
        ]
    )


def environment(runs: Sequence[Subject]) -> str:
    """Return a table of the programs, the machines and the graphs of runs."""
    facts = [_environment(run) for run in runs]
    keys = dict.fromkeys(key for each in facts for key in each)
    return table(["", *(run.name for run in runs)], [[key, *(each.get(key) for each in facts)] for key in keys])


def _environment(run: Subject) -> dict[str, Any]:
    machine, dataset = run.record.get("machine", {}), run.record["dataset"]
    shown = {key: value for key, value in machine.items() if key not in ("memory", "scoring_gflops", "threads")}
    graph = {}
    if run.dataset is not None:
        manifest = run.dataset.manifest
        edges = ", ".join(f"{count:,} {split}" for split, count in manifest.edges.items())
        graph = {"nodes": manifest.nodes, "edges": edges, "relations": manifest.relations, "partitions": manifest.partitions}
    return {
        "marius_lite": run.record["program_version"],
        **shown,
        "threads of the machine": machine.get("threads"),
        "memory of the machine": format_bytes(machine["memory"]) if "memory" in machine else None,
        "device": run.config.device,
        "dataset": _dataset(run),
        "dataset's fingerprint": dataset["fingerprint"][:12],
        **graph,
        "run": run.folder.path.resolve(),
    }


def _dataset(run: Subject) -> str:
    return str(run.dataset.path) if run.dataset else f"{run.record['dataset']['absolute']} (not there now)"


def _flat(section: BaseModel, prefix: str = "") -> dict[str, Any]:
    """Return the settings by their whole names."""
    flat: dict[str, Any] = {}
    for key, value in section.model_dump(mode="json").items():
        inner = getattr(section, key)
        flat |= _flat(inner, f"{prefix}{key}.") if isinstance(inner, BaseModel) else {f"{prefix}{key}": value}
    return flat


def _value(key: str, value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, list):
        return ", ".join(_value(key, each) for each in value) or "none"
    return format_bytes(value) if key in OF_BYTES and isinstance(value, int) else str(value)
