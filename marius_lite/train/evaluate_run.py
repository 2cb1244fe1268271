"""Rank a split with a checkpoint of a run: what `eval` does."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

from marius_lite import files
from marius_lite.train.evaluation import evaluate_split
from marius_lite.train.opened import open_run


def evaluate_run(run: Path | str, split: str = "test", checkpoint: str | None = None) -> dict[str, Any]:
    """Rank every edge of ``split`` with a checkpoint's model; the result is also written to the run's ``eval/``."""
    with closing(open_run(Path(run), checkpoint)) as opened:
        result = evaluate_split(opened.dataset, opened.buffer, opened.model, opened.config, split, None)
        result = {"checkpoint": opened.checkpoint.name, **result}
        folder = opened.run.evaluations
        folder.mkdir(exist_ok=True)
        files.write_atomic(folder / f"{opened.checkpoint.name}.{split}.all.json", json.dumps(result, indent=1).encode())
        return result
