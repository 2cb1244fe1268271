"""The command `marius-lite predict`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from marius_lite.cli import options
from marius_lite.errors import UserError
from marius_lite.log import log

NOTHING = "learned nothing about it"


def predict(
    context: typer.Context,
    run: options.Run,
    queries: options.Queries = None,
    topk: Annotated[int, typer.Option(min=1, help="Number of answers to each query.")] = 10,
    known: Annotated[bool, typer.Option("--known", help="Also give answers that are edges of the dataset.")] = False,
    exclude_self: options.ExcludeSelf = None,
    checkpoint: options.Checkpoint = None,
    dataset: options.Moved = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    allow_code: options.AllowCode = False,
) -> None:
    """Answer queries with a checkpoint's model: the best answers, or the split, class and probabilities of nodes."""
    from marius_lite.cli.output import show_row
    from marius_lite.predict import predict_links, reads_features, task_of

    if task_of(run) == "node_classification":
        _refuse_links_options(context, run)
        return _classes(run, queries, checkpoint, dataset, as_json)
    if queries is None:
        raise UserError("--queries is missing: give a file with one query in each line, such as `src rel ?`")
    answered = predict_links(run, queries, topk, known, checkpoint, exclude_self, dataset)
    if as_json:
        print(json.dumps({"queries": answered}))
    learned = "knows its features alone" if reads_features(run) else NOTHING
    for query in answered:
        asked = ["?" if part is None else str(part) for part in (query["src"], query["rel"], query["dst"])]
        for part in query["untrained"]:
            log.warning(
                "%s: no training edge has the %s %s: the model %s",
                ", ".join(part for part in asked if part),  # a graph of one relation has no name for it
                "relation" if part == "rel" else "node",
                query[part],
                NOTHING if part == "rel" else learned,
            )
        if as_json:
            continue
        for rank, answer in enumerate(query["answers"], 1):
            show_row(*asked, rank, answer["id"], f"{answer['score']:.4f}")
    return None


def _refuse_links_options(context: typer.Context, run: Path) -> None:
    """Raise UserError for an option that is about answers to queries, if it was given."""
    for name in ("topk", "known", "exclude_self"):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            told = f"--{name.replace('_', '-')}" if context.params[name] else "--include-self"
            raise UserError(
                f"{told}: {run} classifies nodes: each node gets its class and the probability of every class, not answers "
                "from which to choose: leave out the option"
            )


def _classes(run: Path, nodes: Path | None, checkpoint: str | None, dataset: Path | None, as_json: bool) -> None:
    """Print one line for each node, or one JSON object. There may be many nodes, so each is printed at once."""
    from marius_lite.cli.output import show_row
    from marius_lite.predict import predict_nodes

    first = True
    for node in predict_nodes(run, nodes, checkpoint, dataset):
        if as_json:
            print('{"nodes": [' if first else ",", json.dumps(node), sep="", end="")
        else:
            column = "class" if "class" in node else "classes"
            answer = node[column] if column == "class" else ",".join(map(str, node[column]))
            if first:
                show_row("id", "split", column, *node["probabilities"])
            shares = (f"{share:.4f}" for share in node["probabilities"].values())
            show_row(node["id"], node["split"], answer, *shares)
        first = False
    if as_json:
        print('{"nodes": []}' if first else "]}")
