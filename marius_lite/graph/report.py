"""What ``report.json`` of a dataset says to whoever uses it: where edges to be ranked were trained on, or could not be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from marius_lite.files import read

REPORT = "report.json"
LEAKS = {
    "also_in_train": "stand in train too, so that their answers were trained on: --split keeps equal edges together",
    "reverse_in_train": "are the reverse of a training edge of the same relation, which gives the answer away if relations are "
                        "symmetric: --split keeps an edge and its reverse together",
    "unseen_in_train": "have a node or a relation that no training edge has: nothing is learned of it, but from features",
}


def read_report(dataset: Path) -> dict[str, Any]:
    """The report; empty where it is missing or cannot be read: nothing else depends on it."""
    try:
        report = json.loads(read(dataset / REPORT))
    except (OSError, ValueError):
        return {}
    return report if isinstance(report, dict) else {}


def leak_lines(report: Mapping[str, Any], split: str | None = None) -> list[str]:
    """What figures on ``split`` (None: each) are worth: a line for each kind of edges of `LEAKS` that there are.

    Datasets of earlier versions did not count all kinds: these give no line."""
    lines = []
    for name, entry in report.get("edges", {}).items():
        for kind, meaning in LEAKS.items() if split in (None, name) else ():
            if count := entry.get(kind):
                lines.append(f"{name}: {count:,} of {entry['stored']:,} edges {meaning}")
    return lines
