"""Evaluate a split with a checkpoint of a run: what `eval` does."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

from marius_lite import files
from marius_lite.checkpoint.find import LATEST, pointed
from marius_lite.log import log
from marius_lite.tasks import task_of
from marius_lite.tasks.checkpoint import Checkpoint, open_checkpoint


def evaluate_run(
    run: Path | str,
    split: str = "test",
    checkpoint: str | None = None,
    exclude_self: bool | None = None,
    dataset: Path | str | None = None,
) -> dict[str, Any]:
    """Rank every edge, or classify every node, of ``split`` with a checkpoint's model. Returns the figures.

    They are also written to the run's ``eval/``. Ranks are among all nodes. ``exclude_self``: whether the node that a question is
    about is left out of them; None: where fewer than one training edge in 1,000 is a self-loop. If it is left out, ``with_self``
    has the figures with that node among the candidates, as others publish them; else ``without_self`` has those without it.
    ``dataset``: where the run's dataset is, if it was moved. Raises UserError where there is no such checkpoint or dataset.
    """
    with closing(open_checkpoint(Path(run), checkpoint, Path(dataset) if dataset is not None else None)) as opened:
        latest = pointed(opened.run, LATEST)
        if checkpoint is None and latest not in (None, opened.path.name):
            log.info(
                "checkpoint %s, the best by validation; the run has come to %s: --checkpoint latest", opened.path.name, latest
            )
        result = task_of(opened.config).evaluate(opened, split, exclude_self)
        if not result.get("count", 1):
            log.warning(
                f"the dataset has nothing in its split {split}, so there are no figures: choose another split, or preprocess "
                "with --split, or with files for --valid and --test"
            )
        return _written(opened, split, result)


def _written(checkpoint: Checkpoint, split: str, result: dict[str, Any]) -> dict[str, Any]:
    result = {"checkpoint": checkpoint.path.name, **result}
    folder = checkpoint.run.evaluations
    folder.mkdir(exist_ok=True)
    files.write_atomic(folder / f"{checkpoint.path.name}.{split}.all.json", json.dumps(result, indent=1).encode())
    return result
