"""marius-lite eval"""

from __future__ import annotations

from typing import Annotated

import typer

from marius_lite.cli import options


def eval(run: options.Run,
         split: Annotated[str, typer.Option(help="Edges to rank: test, valid or train.")] = "test",
         checkpoint: options.Checkpoint = None, as_json: options.Json = False, allow_code: options.AllowCode = False) -> None:
    """Rank every edge of a split among all nodes, known edges left out, with the model of a checkpoint."""
    from marius_lite.cli.output import show
    from marius_lite.train.evaluate_run import evaluate_run

    result = evaluate_run(run, split, checkpoint)
    if not as_json:
        result.pop("per_relation", None)
    show(result, as_json)
