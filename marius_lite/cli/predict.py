"""The command `marius-lite predict`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from marius_lite.cli import options
from marius_lite.errors import UserError
from marius_lite.log import log

if TYPE_CHECKING:
    from marius_lite.predict.answered import Answered
    from marius_lite.predict.nodes import NodeClasses

NOTHING = "learned nothing about it"
MOST_TOLD = 20
"""Queries with untrained parts that are told; others are counted."""


def predict(
    context: typer.Context,
    run: options.Run,
    queries: options.Queries = None,
    topk: Annotated[int, typer.Option(min=1, help="Number of answers to each query.")] = 10,
    known: Annotated[bool, typer.Option("--known", help="Also give answers that are edges of the dataset.")] = False,
    exclude_self: options.ExcludeSelf = None,
    probability: Annotated[
        bool,
        typer.Option(
            "--probability",
            help="Also give the probability of each answer: that an edge with its score is a true one, where true edges and "
            "random ones are met equally often. So 0.9 does not say that 9 in 10 first answers are true. Fitted on at most "
            "10,000 edges of the validation split, and as many with one end replaced by a random node (Platt scaling).",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            callback=options.named,
            help="Write a table to this file (.tsv, .csv or .parquet) instead of printing. It appears when it is whole.",
        ),
    ] = None,
    checkpoint: options.Checkpoint = None,
    dataset: options.Moved = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    allow_code: options.AllowCode = False,
) -> None:
    """Answer queries with a checkpoint's model: the best answers, or the split, class and probabilities of nodes.

    Queries are read and answered some thousands at a time, so there may be millions of them.
    """
    from marius_lite.predict.links import answer_links
    from marius_lite.predict.nodes import classify_nodes
    from marius_lite.predict.run import reads_features, task_of
    from marius_lite.predict.table_file import check_table_file

    if output is not None:
        check_table_file(output)
    if task_of(run) == "node_classification":
        _refuse_links_options(context, run)
        return _show_classes(classify_nodes(run, queries, checkpoint, dataset), output, as_json)
    if queries is None:
        lines = "one query in each line: `src rel ?`, or `src ?` where the graph has one relation alone"
        raise UserError(f"--queries is missing: give a file with {lines}")
    answered = answer_links(run, queries, topk, known, checkpoint, exclude_self, dataset, probability)
    _show_answers(_warned(answered, "knows its features alone" if reads_features(run) else NOTHING), output, as_json)


def _show_answers(answered: Iterable[Answered], output: Path | None, as_json: bool) -> None:
    """Write the file ``output``, or print a line for each answer, or JSON."""
    from marius_lite.cli.output import show, show_row
    from marius_lite.predict.answered import tables
    from marius_lite.predict.table_file import write_tables

    if output is not None:
        return show({"output": str(output), "answers": write_tables(tables(answered), output)}, as_json)
    each = (query for block in answered for query in block.dicts())
    if as_json:
        return _print_json(each, "queries")
    for query in each:
        asked = _asked(query["src"], query["rel"], query["dst"])
        for rank, answer in enumerate(query["answers"], 1):
            name, *figures = answer.values()
            show_row(*asked, rank, name, *(f"{figure:.4f}" for figure in figures))
    return None


def _print_json(items: Iterable[dict[str, Any]], name: str) -> None:
    """Print one JSON object with a list. There may be many items, so each is printed at once."""
    before = f'{{"{name}": ['
    for item in items:
        print(before, json.dumps(item), sep="", end="")
        before = ", "
    print("]}" if before == ", " else before + "]}")


def _asked(*parts: Any) -> list[str]:
    return ["?" if part is None else str(part) for part in parts]


def _warned(answered: Iterable[Answered], learned: str) -> Iterator[Answered]:
    """Yield the blocks. Warn of queries about something that no training edge has; ``learned``: what is known of such a node."""
    told = 0
    for block in answered:
        for (src, rel, dst), untrained in zip(block.questions.raw, block.untrained):
            told += bool(untrained)
            for part in untrained if told <= MOST_TOLD else ():
                log.warning(
                    "%s: no training edge has the %s %s: the model %s",
                    ", ".join(each for each in _asked(src, rel, dst) if each),  # a graph of one relation has no name for it
                    "relation" if part == "rel" else "node",
                    {"src": src, "rel": rel, "dst": dst}[part],
                    NOTHING if part == "rel" else learned,
                )
        yield block
    if told > MOST_TOLD:
        log.warning("%d more queries are about what no training edge has: --json and --output tell which", told - MOST_TOLD)


def _refuse_links_options(context: typer.Context, run: Path) -> None:
    """Raise UserError for an option that is about answers to queries, if it was given."""
    for name in ("topk", "known", "exclude_self", "probability"):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            told = f"--{name.replace('_', '-')}" if context.params[name] else "--include-self"
            raise UserError(
                f"{told}: {run} classifies nodes: each node gets its class and the probability of every class, not answers "
                "from which to choose: leave out the option"
            )


def _show_classes(classified: Iterable[NodeClasses], output: Path | None, as_json: bool) -> None:
    """Write the file ``output``, or print a line for each node, or JSON."""
    from marius_lite.cli.output import show, show_row
    from marius_lite.predict.table_file import write_tables

    if output is not None:
        nodes = write_tables((block.table() for block in classified), output)
        return show({"output": str(output), "nodes": nodes}, as_json)
    each = (node for block in classified for node in block.dicts())
    if as_json:
        return _print_json(each, "nodes")
    for number, node in enumerate(each):
        raw, split, answer, probabilities = node.values()
        if not number:
            show_row(*list(node)[:3], *probabilities)
        classes = ",".join(map(str, answer)) if isinstance(answer, list) else answer
        show_row(raw, split, classes, *(f"{share:.4f}" for share in probabilities.values()))
    return None
