"""The settings in the record of a run: what earlier versions did not write, and what a run on another machine can take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BEFORE_THERE_WAS_A_CHOICE: dict[str, dict[str, Any]] = {
    "training": {"scoring": "torch", "even_batches": False, "products": "onednn", "weight_power": 0.0},
    "model": {"weight_unit": 0.0, "weight_bounds": [], "reversible_sums": "float32", "most_deviations": 0.0},
    "negatives": {"balance": False},
    "init": {"hops": 0, "by_turns": False},
    "evaluation": {"calibrated": False},
    "regularizer": {"eases": False},
    "sampling": {"scope": "resident", "lists": "memory", "edge_dropout": 0.0},
}
"""Settings of runs that were started before the keys existed, by section."""
OF_A_MACHINE: dict[str, set[str]] = {
    "storage": {"row_dtype"},
    "scale": set(),
    "checkpoint": set(),
    "device": set(),
    "sampling": {"fanouts", "scope", "refresh_epochs", "edge_dropout", "weighted"},
    "training": {
        "epochs",
        "method",
        "layer_epochs",
        "batch_size",
        "even_batches",
        "seed",
        "precision",
        "early_stopping",
        "metric",
    },
}
"""What of a run's record depends on the machine, the dataset or the order of runs: of these sections another run takes but so
much, or nothing."""


def is_record(tree: Mapping[str, Any]) -> bool:
    """Return whether a YAML file is the record of a run."""
    return "format_version" in tree and isinstance(tree.get("config"), dict)


def complete(config: Any) -> Any:
    """Return the settings of a record with those that the run had before their keys existed. What is no section stays."""
    if not isinstance(config, dict):
        return config
    filled = {
        section: {**BEFORE_THERE_WAS_A_CHOICE.get(section, {}), **values} if isinstance(values, dict) else values
        for section, values in config.items()
    }
    model = filled.get("model")
    if isinstance(model, dict):  # the input lost as many numbers as all layers did
        model.setdefault("input_dropout", model.get("dropout", 0.0) if config.get("task") == "node_classification" else 0.0)
    return filled


def of_any_machine(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what another run can take of the settings of a record: all but what is left out of `OF_A_MACHINE`."""
    taken: dict[str, Any] = {}
    for section, values in complete(config).items():
        kept = OF_A_MACHINE.get(section)
        if kept is None or (kept and not isinstance(values, dict)):
            taken[section] = values
        elif kept:
            taken[section] = {key: value for key, value in values.items() if key in kept}
    return taken
