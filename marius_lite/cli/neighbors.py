"""The command `marius-lite neighbors`."""

from __future__ import annotations

import json
from typing import Annotated, Optional

import typer

from marius_lite.cli import options
from marius_lite.errors import UserError


def neighbors(
    run: options.Run,
    nodes: Annotated[list[str], typer.Argument(metavar="RAW_ID...", help="Raw ids of nodes.")],
    relation: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Give the best ends of edges of this relation instead, by the decoder's score; '' if there is none."),
    ] = None,
    side: Annotated[str, typer.Option(help="With --relation: dst asks what the nodes lead to, src what leads to them.")] = "dst",
    topk: Annotated[int, typer.Option("--topk", "-k", min=1, help="Number of answers for each node.")] = 10,
    type: Annotated[Optional[str], typer.Option(help="Only nodes of this type.")] = None,  # noqa: UP045
    known: Annotated[
        Optional[bool],  # noqa: UP045
        typer.Option(
            "--include-known/--exclude-known",
            help="Also give answers that are edges of the dataset; without --relation, nodes that an edge links to the node. By "
            "default they are left out with --relation, and given without it.",
        ),
    ] = None,
    cosine: Annotated[bool, typer.Option("--cosine", help="Compare by the cosine of angles, not as the model does.")] = False,
    exact: Annotated[bool, typer.Option("--exact", help="Compare all nodes, though there is an index.")] = False,
    checkpoint: options.Checkpoint = None,
    dataset: options.Moved = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    allow_code: options.AllowCode = False,
) -> None:
    """Give the nodes that are most like some nodes, or that best complete an edge with them, as the model has learned it."""
    from marius_lite.cli.output import show_row
    from marius_lite.search.session import open_search

    if relation is None and side != "dst":
        raise UserError("--side: says which end of a relation is asked for: give --relation too")
    with open_search(run, cosine, exact, checkpoint, dataset) as search:
        if relation is None:
            found = search.neighbors(nodes, topk, type, known is not False)
        else:
            found = search.answers(nodes, relation, side, topk, type, bool(known))
    if as_json:
        print(json.dumps({"queries": found}))
        return
    for each in found:
        asked = [each["id"]] if relation is None else [each["src"], each["rel"], each["dst"]]
        for rank, best in enumerate(each["neighbors" if relation is None else "answers"], 1):
            show_row(*("?" if part is None else part for part in asked), rank, best["id"], f"{best['score']:.4f}")
