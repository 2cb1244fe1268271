"""Read ``report.json`` of a dataset, and warn of edges to be ranked whose answers training knows, or cannot know."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from marius_lite.files import read_json, write_atomic
from marius_lite.sealed import checksum_of

REPORT, CHECKSUM = "report.json", "checksum"
UNKNOWN = f"{REPORT} of the dataset is missing or damaged: whether edges to be ranked stand in train as well is not known"
LEAKS = {
    "also_in_train": "stand in train too, so that their answers were trained on, and figures say little about new edges: "
    "`preprocess --split` keeps equal edges together; where edges are split by time, leave those out that train has",
    "reverse_in_train": "are the reverse of a training edge of the same relation, which gives the answer away if relations are "
    "symmetric: `preprocess --split` keeps an edge and its reverse together",
    "inverse_in_train": "join two nodes that a training edge of another relation joins the other way around, which gives the "
    "answer away if relations have inverses: leave one of two such relations out",
    "unseen_in_train": "have a node or a relation that no training edge has: the model learns nothing about it",
}
FEATURES_TELL = ", unless an encoder reads the node's features"
RARE = {"inverse_in_train": 0.05}
"""Shares of edges up to which a kind is common in any graph, and no fault of the splits."""
UNSEEN_NODES = "nodes_unseen_in_train"


def write_report(path: Path, report: dict[str, Any]) -> None:
    """Write the report with its checksum. Raises RunError."""
    write_atomic(path, json.dumps({**report, CHECKSUM: checksum_of(report)}, indent=1).encode() + b"\n")


def read_report(dataset: Path) -> dict[str, Any]:
    """Read the report. It is empty where the file is missing or damaged, because only warnings depend on it.

    Earlier versions wrote no checksum.
    """
    try:
        report = read_json(dataset / REPORT)
        if (sealed := report.pop(CHECKSUM, None)) is not None and sealed != checksum_of(report):
            return {}
        numbers = (*LEAKS, UNSEEN_NODES)
        counts = [value for entry in report["edges"].values() for value in (entry["stored"], *map(entry.get, numbers))]
        texts = {type(line) for line in report.get("warnings", [])}
        sound = (
            {type(value) for value in counts} <= {int, type(None)}
            and texts <= {str}
            and all(entry["stored"] is not None for entry in report["edges"].values())
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    return report if sound else {}


def leak_lines(report: Mapping[str, Any], split: str | None = None) -> list[str]:
    """Return warnings about figures on ``split`` (None: on each split).

    There is a line for each kind of `LEAKS` whose share of the edges is above `RARE`, or the line `UNKNOWN` where there is no
    report. Earlier versions did not count all kinds; those that are not counted give no line.
    """
    if not report or UNKNOWN in report.get("warnings", []):
        return [UNKNOWN]
    lines = []
    for name, entry in report["edges"].items():
        for kind, meaning in LEAKS.items() if split in (None, name) else ():
            count = entry.get(kind) or 0
            if count > RARE.get(kind, 0) * entry["stored"]:
                nodes = entry.get(UNSEEN_NODES) if kind == "unseen_in_train" else None
                also = FEATURES_TELL if nodes and report.get("features") else ""
                also += f" ({nodes:,} such nodes)" if nodes else ""
                lines.append(f"{name}: {count:,} of {entry['stored']:,} edges {meaning}{also}")
    return lines
