"""The command `marius-lite index`."""

from __future__ import annotations

from typing import Annotated

import typer

from marius_lite.cli import options


def index(
    run: options.Run,
    kind: Annotated[
        str, typer.Option(help="flat, ivf-flat, ivf-pq, or auto: by the number of nodes and the memory (docs/search.md).")
    ] = "auto",
    cosine: Annotated[bool, typer.Option("--cosine", help="For `neighbors --cosine`, not for other searches.")] = False,
    recall: Annotated[float, typer.Option(help="The share of the 10 best answers that it should find.")] = 0.95,
    memory: Annotated[str | None, typer.Option(help="Memory to take, such as 4GB. The default is the run's.")] = None,
    checkpoint: options.Checkpoint = None,
    dataset: options.Moved = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    allow_code: options.AllowCode = False,
) -> None:
    """Make an index of a run's vectors in its folder, with which `neighbors` does not need to compare all nodes."""
    from marius_lite.cli.output import show
    from marius_lite.search.build import index_run

    show(index_run(run, kind, cosine, recall, memory, checkpoint, dataset), as_json)
