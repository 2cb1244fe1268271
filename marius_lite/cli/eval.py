"""The command `marius-lite eval`."""

from __future__ import annotations

from typing import Annotated

import typer

from marius_lite.cli import options

MOST_CLASSES = 12
"""The most classes for which the confusion matrix is printed. --json always has it."""


def eval(
    run: options.Run,
    split: Annotated[str, typer.Option(help="Edges to rank, or nodes to classify: test, valid or train.")] = "test",
    exclude_self: options.ExcludeSelf = None,
    checkpoint: options.Checkpoint = None,
    dataset: options.Moved = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    allow_code: options.AllowCode = False,
) -> None:
    """Measure a checkpoint's model on a split: rank its edges among all nodes, or classify its nodes.

    Other known edges are left out of the ranking.
    """
    from marius_lite.cli.output import show, show_confusion
    from marius_lite.tasks.evaluate_run import evaluate_run

    result = evaluate_run(run, split, checkpoint, exclude_self, dataset)
    confusion = result.get("confusion", [])
    if not as_json:
        for long in ("per_relation", "per_degree", "per_class", "confusion"):
            result.pop(long, None)
        for other in ("without_self", "with_self"):
            if all(result[name] == value for name, value in result.get(other, {}).items()):
                result.pop(other, None)
    show(result, as_json)
    if not as_json and 0 < len(confusion) <= MOST_CLASSES:
        show_confusion(confusion, result.get("class_names", range(len(confusion))))
