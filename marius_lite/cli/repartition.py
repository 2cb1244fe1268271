"""`marius-lite repartition`: a dataset again with another number of partitions."""

from __future__ import annotations

from typing import Annotated

import typer

from marius_lite.cli import options
from marius_lite.counted import counted
from marius_lite.printable import printable


def repartition(
    dataset: options.Dataset,
    output: options.Output,
    partitions: Annotated[str, typer.Option(metavar="N", help="A number from 1 to 1024.")],
    memory: Annotated[
        str, typer.Option(help="Memory for sorting edges and for a partition's neighbour lists (bytes, or with a unit).")
    ] = "4GB",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a dataset that is there already. It may be DATASET itself.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Make a dataset again with another number of partitions, without its raw files.

    Node ids stay as they are. With random ids the result is what preprocess makes with --partitions N. Ids by --partitioner
    locality were made for another number, so more edges than necessary may lie between partitions. Their share is printed.
    """
    from marius_lite.preprocess.repartition import repartition as run
    from marius_lite.preprocess.repartitioning.options import RepartitionOptions

    report = run(RepartitionOptions.parse(dataset, output, partitions, memory, overwrite))
    if as_json:
        import json

        typer.echo(json.dumps(report))
        return
    typer.echo(
        f"{printable(str(output))}: {report['nodes']:,} nodes in {counted(report['partitions'], 'partition')} instead of "
        f"{report['repartitioned']['partitions']} ({100 * report['edge_cut']:.1f} % of edges between them), "
        f"{report['seconds']['total']:.1f} s"
    )
