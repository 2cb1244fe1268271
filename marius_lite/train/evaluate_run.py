"""Evaluate a split with a checkpoint of a run: what `eval` does."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

from marius_lite import files
from marius_lite.train.classification import classify_split
from marius_lite.train.evaluation import evaluate_split
from marius_lite.train.opened import Checkpoint, open_checkpoint, open_classifier, open_links


def evaluate_run(run: Path | str, split: str = "test", checkpoint: str | None = None) -> dict[str, Any]:
    """Rank every edge, or classify every node, of ``split`` with a checkpoint's model; also written to the run's ``eval/``."""
    found = open_checkpoint(Path(run), checkpoint)
    if found.config.task == "node_classification":
        result = classify_split(found.dataset, open_classifier(found), found.config, found.table, split, found.run.path)
        return _written(found, split, result)
    with closing(open_links(found)) as opened:
        return _written(found, split, evaluate_split(opened.dataset, opened.buffer, opened.model, opened.config, split, None))


def _written(found: Checkpoint, split: str, result: dict[str, Any]) -> dict[str, Any]:
    result = {"checkpoint": found.path.name, **result}
    folder = found.run.evaluations
    folder.mkdir(exist_ok=True)
    files.write_atomic(folder / f"{found.path.name}.{split}.all.json", json.dumps(result, indent=1).encode())
    return result
