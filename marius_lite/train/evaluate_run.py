"""Evaluate a split with a checkpoint of a run: what `eval` does."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

from marius_lite import files
from marius_lite.graph.report import leak_lines, read_report
from marius_lite.graph.self_loops import self_loop_share
from marius_lite.log import log
from marius_lite.tasks.link_evaluation import evaluate_split
from marius_lite.tasks.node_evaluation import classify_split
from marius_lite.train.opened import Checkpoint, open_checkpoint, open_classifier, open_links

MOST_SELF_BEST = 0.05
"""Of the queries, above which a warning is due where training edges do not lead from nodes to themselves about as often."""


def evaluate_run(run: Path | str, split: str = "test", checkpoint: str | None = None,
                 exclude_self: bool | None = None, dataset: Path | str | None = None) -> dict[str, Any]:
    """Rank every edge, or classify every node, of ``split`` with a checkpoint's model; also written to the run's ``eval/``.

    Ranks are among all nodes; with ``exclude_self`` but the one that a question is about, and then ``with_self`` has the figures
    as others publish them, with that node among the candidates. None: excluded where fewer than one training edge in 1,000 is
    a self-loop. Where it is not excluded, ``without_self`` has the figures without it. ``dataset``: where the run's dataset is,
    if it was moved.
    """
    found = open_checkpoint(Path(run), checkpoint, Path(dataset) if dataset is not None else None)
    if found.config.task == "node_classification":
        with closing(found):
            result = classify_split(found.dataset, open_classifier(found), found.config, split, found.run.path, found.table)
            return _written(found, split, result)
    for line in leak_lines(read_report(found.dataset.path), split):
        log.warning("%s", line)
    with closing(open_links(found)) as opened:
        result = evaluate_split(opened.dataset, opened.buffer, opened.model, opened.config, split, None,
                                exclude_self, compared=True)
    if (share := result["self_best"] or 0) > MOST_SELF_BEST and share > 2 * (loops := self_loop_share(found.dataset)):
        log.warning("the node asked about scores best of all for %.1f %% of its own questions (self_best), but %.2g %% of the "
                    "training edges lead from a node to itself: %s", 100 * share, 100 * loops,
                    "it is left out here, and from the answers of `predict`" if result["query_node"] == "left_out" else
                    "leave it out of figures and answers with `--exclude-self`")
    return _written(found, split, result)


def _written(found: Checkpoint, split: str, result: dict[str, Any]) -> dict[str, Any]:
    result = {"checkpoint": found.path.name, **result}
    folder = found.run.evaluations
    folder.mkdir(exist_ok=True)
    files.write_atomic(folder / f"{found.path.name}.{split}.all.json", json.dumps(result, indent=1).encode())
    return result
