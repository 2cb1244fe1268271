"""`marius-lite update`: new edges and nodes for a dataset, without preprocessing it anew."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from marius_lite.cli import options
from marius_lite.cli import preprocess_options as given

NewEdges = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(metavar="[NEW_EDGES]...", help="Files with new edges for training, or patterns, as preprocess takes them."),
]
Remove = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        metavar="EDGES",
        help="Edges to remove, in every split where they stand, equal ones too. Those that are not there are counted and told. "
        "May be given several times.",
    ),
]
Memory = Annotated[str, typer.Option(help="Memory that update may take (bytes, or with a unit), as preprocess keeps to it.")]


def update(
    dataset: options.Dataset,
    new_edges: NewEdges = None,
    remove: Remove = None,
    valid: given.Valid = None,
    test: given.Test = None,
    format: given.Format = "auto",
    columns: given.Columns = None,
    edge_weight: given.EdgeWeight = None,
    weight_default: given.WeightDefault = None,
    timestamp: given.Timestamp = None,
    delimiter: given.Delimiter = "auto",
    header: given.Header = "auto",
    comment: given.Comment = "#",
    on_bad_row: given.OnBadRow = "error",
    memory: Memory = "4GB",
    as_json: options.Json = False,
) -> None:
    """Add edges, with their new nodes and relations, to a dataset, and remove others: the next version of it.

    Nodes and relations keep their ids; new ones follow. The older versions stay: DATASET@N names one, `info` lists them. How
    edges are stored (--undirected, --drop-duplicates and the like) is as the dataset was made. Edges are removed before new
    ones are added. An interrupted command goes on when it is given again.
    """
    more = {name: value for name, value in locals().items() if name not in ("dataset", "new_edges", "remove", "as_json")}
    from marius_lite.preprocess.update import summary
    from marius_lite.preprocess.update import update as run

    report = run(dataset, new_edges or [], remove or [], **more)
    if as_json:
        import json

        typer.echo(json.dumps(report))
        return
    typer.echo(summary(str(dataset), report))
