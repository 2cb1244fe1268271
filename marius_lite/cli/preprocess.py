"""`marius-lite preprocess`: raw edge lists to a dataset folder."""

from __future__ import annotations

import json as json_module
import sys

import typer

from marius_lite.cli import preprocess_options as given
from marius_lite.printable import printable


def preprocess(
    edges: given.Edges,
    output: given.Output,
    valid: given.Valid = None,
    test: given.Test = None,
    split: given.Split = None,
    format: given.Format = "auto",
    ids: given.Ids = "auto",
    columns: given.Columns = None,
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
    from marius_lite.preprocess import Options
    from marius_lite.preprocess import preprocess as run
    from marius_lite.preprocess.standard_input import on_disk

    options = Options.parse(
        edges=edges,
        output=output,
        valid=valid,
        test=test,
        split=split,
        format=format,
        ids=ids,
        columns=columns,
        edge_weight=edge_weight,
        weight_default=weight_default,
        timestamp=timestamp,
        features=features,
        feature_dtype=feature_dtype,
        node_ids=node_ids,
        labels=labels,
        node_types=node_types,
        train_nodes=train_nodes,
        valid_nodes=valid_nodes,
        test_nodes=test_nodes,
        mask_split=mask_split,
        node_split=node_split,
        delimiter=delimiter,
        header=header,
        comment=comment,
        partitions=partitions,
        partitioner=partitioner,
        training_partitions=training_partitions,
        memory=memory,
        seed=seed,
        adjacency=adjacency,
        overwrite=overwrite,
        undirected=undirected,
        drop_duplicates=drop_duplicates,
        drop_self_loops=drop_self_loops,
        on_bad_row=on_bad_row,
    )
    with on_disk(options, sys.stdin.buffer) as options:
        report = run(options)
    if json:
        typer.echo(json_module.dumps(report))
        return
    from marius_lite.preprocess.report import summary

    typer.echo(printable(f"{output}: {summary(report)}"))
