"""`marius-lite preprocess`: raw edge lists to a dataset folder."""

from __future__ import annotations

import json as json_module
import sys
from contextlib import redirect_stdout

import typer

from marius_lite.cli import preprocess_options as given
from marius_lite.printable import printable


def preprocess(
    edges: given.Edges,
    output: given.Output,
    database: given.Database = None,
    valid: given.Valid = None,
    test: given.Test = None,
    split: given.Split = None,
    format: given.Format = "auto",
    ids: given.Ids = "auto",
    columns: given.Columns = None,
    bipartite: given.Bipartite = None,
    edge_weight: given.EdgeWeight = None,
    weight_default: given.WeightDefault = None,
    timestamp: given.Timestamp = None,
    features: given.Features = None,
    feature_dtype: given.FeatureDtype = "auto",
    node_ids: given.NodeIds = None,
    labels: given.Labels = None,
    node_types: given.NodeTypes = None,
    train_nodes: given.TrainNodes = None,
    valid_nodes: given.ValidNodes = None,
    test_nodes: given.TestNodes = None,
    mask_split: given.MaskSplit = None,
    node_split: given.NodeSplit = None,
    delimiter: given.Delimiter = "auto",
    header: given.Header = "auto",
    comment: given.Comment = "#",
    partitions: given.Partitions = "auto",
    partitioner: given.Partitioner = "random",
    training_partitions: given.TrainingPartitions = "first",
    memory: given.Memory = "4GB",
    engine: given.Engine = "plain",
    workers: given.Workers = None,
    seed: given.Seed = 0,
    adjacency: given.Adjacency = "auto",
    overwrite: given.Overwrite = False,
    undirected: given.Undirected = False,
    drop_duplicates: given.DropDuplicates = False,
    drop_self_loops: given.DropSelfLoops = False,
    on_bad_row: given.OnBadRow = "error",
    json: given.Json = False,
) -> None:
    """Turn raw edge lists into a partitioned dataset."""
    arguments = {name: value for name, value in locals().items() if name != "json"}
    from marius_lite.preprocess.make import made_and_sent

    with redirect_stdout(sys.stderr):  # where Ray says that a worker died: only the report is a result
        report = made_and_sent(arguments, sys.stdin.buffer)
    if json:
        typer.echo(json_module.dumps(report))
        return
    from marius_lite.preprocess.report import summary
    from marius_lite.remote.address import address_of

    typer.echo(printable(f"{address_of(output) or output}: {summary(report)}"))
