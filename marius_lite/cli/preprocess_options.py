"""The arguments and options of `marius-lite preprocess`, with their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from marius_lite.preprocess.formats import FORMATS

EDGES, NODES, TEXT, CLEAN, OUTPUT = "Input", "Nodes", "Text input", "Cleaning", "Result"

Edges = Annotated[
    list[str],
    typer.Argument(
        metavar="EDGES...",
        help="Edge files or quoted patterns. Text (plain, gz, zst, bz2, xz): delimited columns, PACE/DIMACS .gr, METIS, "
        "MatrixMarket or N-Triples. Tables and arrays: Parquet, .npy (or FILE.npz:KEY) of shape (E, 2), (E, 3) or (2, E), "
        "COO or CSR in .npz, a torch_geometric Data in .pt. One OGB, GraphBolt or Marius folder. Text in archives: "
        "FILE.zip:MEMBER, FILE.tar.gz:MEMBER, or 'FILE.zip:*.txt'. - is standard input.",
    ),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="The dataset folder to make.")]
Database = Annotated[
    str | None,
    typer.Option(
        metavar="URI",
        help="Where queries are asked, which begin with SELECT or WITH and stand in the place of files: sqlite:///FILE, "
        "duckdb:///FILE, or postgresql://HOST/NAME (PGPASSWORD and .pgpass hold). Columns of a result are found by their names.",
        rich_help_panel=EDGES,
    ),
]
Valid = Annotated[list[str] | None, typer.Option(help="Validation edges. May be given several times.", rich_help_panel=EDGES)]
Test = Annotated[list[str] | None, typer.Option(help="Test edges. May be given several times.", rich_help_panel=EDGES)]
Split = Annotated[
    str | None,
    typer.Option(
        help="Fractions for train, valid and test instead of files, for example 0.9,0.05,0.05. Equal "
        "edges, and an edge and its reverse, fall into the same split.",
        rich_help_panel=EDGES,
    ),
]
Format = Annotated[str, typer.Option(help=f"auto, which looks at the content, or {', '.join(FORMATS)}.", rich_help_panel=EDGES)]
Ids = Annotated[str, typer.Option(help="int (0 to 2^63 - 1) or str; auto looks at the first rows.", rich_help_panel=EDGES)]
Columns = Annotated[
    str | None,
    typer.Option(
        help="What the file's columns are, in their order: src, rel, dst, weight, time, and _ for one to ignore, for example "
        "src,dst,weight. Or the names in the header of the source, relation and destination column.",
        rich_help_panel=EDGES,
    ),
]
Bipartite = Annotated[
    str | None,
    typer.Option(
        metavar="SRC,DST",
        help="Sources and destinations are of two kinds, which have these names, for example user,item. Ids are told apart by "
        "them, even where both kinds count from 1: 7 is the node user:7 as a source and item:7 as a destination.",
        rich_help_panel=EDGES,
    ),
]
EdgeWeight = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="The column that holds the edges' weights, by its name in the header, or the array of an .npz archive. For "
        "columns without names see --columns.",
        rich_help_panel=EDGES,
    ),
]
WeightDefault = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="The weight of edges whose weight is empty, null or NaN. Without it such rows are bad.",
        rich_help_panel=EDGES,
    ),
]
Timestamp = Annotated[
    str | None,
    typer.Option(
        metavar="COL", help="The column or array that holds the edges' times, which are integers.", rich_help_panel=EDGES
    ),
]
Features = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Node features, shape (nodes, width). Row i belongs to the integer id i, or see --node-ids. A .npy array, "
        "FILE.npz:KEY (an array, or the parts of a CSR matrix: KEY_indptr, _indices, _data, _shape), Parquet (columns of "
        "numbers, or one of lists), text (.csv, ids in a column `id` or the first), or a Zarr array. Every row makes a "
        "node, with edges or without.",
        rich_help_panel=NODES,
    ),
]
FeatureDtype = Annotated[
    str,
    typer.Option(
        help="Storage type of features: float32, float16, bfloat16, or int8 (with a scale for each column, off by at most "
        "1/254 of the column's largest magnitude). auto keeps float16 and makes all else float32.",
        rich_help_panel=NODES,
    ),
]
NodeIds = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Raw ids of the rows of --features and --labels: text with one id in each line, or a .npy array (or FILE.npz:KEY) "
        "of integers. Row i then belongs to the i-th id.",
        rich_help_panel=NODES,
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Class labels, integers or names. One for each row: a .npy array (or FILE.npz:KEY) of shape (nodes,), a Parquet "
        "column, or text; row i belongs to the integer id i, or see --node-ids. Or two columns of text or Parquet, a "
        "node's id and its class. Or an array of shape (nodes, classes), 1 for each class that a node has, else 0. -1, "
        "NaN and an empty cell beside an id are no label. Every row makes a node.",
        rich_help_panel=NODES,
    ),
]
NodeTypes = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="The type of each node, by name. Text or Parquet with two columns, raw id and type; or a .npy array (or "
        "FILE.npz:KEY) of shape (nodes, 2), or of shape (nodes,), whose row i belongs to the integer id i. Every node needs "
        "a type. Every row makes a node. --delimiter, --header and --comment hold for this file too.",
        rich_help_panel=NODES,
    ),
]
TrainNodes = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="The nodes to train on: text with one id in each line, a .npy array (or FILE.npz:KEY) of integer ids, or a mask "
        "that is true for them. They are put into the first partitions, or see --training-partitions.",
        rich_help_panel=NODES,
    ),
]
ValidNodes = Annotated[
    str | None, typer.Option(metavar="FILE", help="The nodes to validate on, as --train-nodes.", rich_help_panel=NODES)
]
TestNodes = Annotated[
    str | None, typer.Option(metavar="FILE", help="The nodes to test on, as --train-nodes.", rich_help_panel=NODES)
]
MaskSplit = Annotated[
    int | None,
    typer.Option(
        metavar="K",
        help="Which split to take, from 0, if masks have the shape (nodes, splits) or (splits, nodes).",
        rich_help_panel=NODES,
    ),
]
NodeSplit = Annotated[
    str | None,
    typer.Option(
        help="Fractions of the labelled nodes for train, valid and test instead of lists, for example 0.6,0.2,0.2.",
        rich_help_panel=NODES,
    ),
]
Delimiter = Annotated[
    str,
    typer.Option(
        help="One character, or tab, comma, space, semicolon, pipe, or whitespace (any number of spaces and tabs), or auto.",
        rich_help_panel=TEXT,
    ),
]
Header = Annotated[str, typer.Option(help="Whether the first row is titles: yes, no, auto.", rich_help_panel=TEXT)]
Comment = Annotated[str, typer.Option(help="Lines that start with this are left out. '' keeps all lines.", rich_help_panel=TEXT)]
Partitions = Annotated[str, typer.Option(help="Number of partitions, from 1 to 1024, or auto.", rich_help_panel=OUTPUT)]
Partitioner = Annotated[
    str,
    typer.Option(
        help="random, locality or metis. locality: fewer edges between partitions. Sampling then finds more neighbours in "
        "memory, but what is in memory at a time is less like the whole graph. Compare both; not for knowledge-graph "
        "embeddings. metis: the same by METIS (pip install 'marius-lite\\[metis]'), for graphs that fit in --memory.",
        rich_help_panel=OUTPUT,
    ),
]
TrainingPartitions = Annotated[
    str,
    typer.Option(
        help="Which partitions the training nodes are in. first: they fill the first ones, which can stay in memory while others "
        "come and go. all: they stay among the others, where the partitioner puts them, as training.method cluster needs it.",
        rich_help_panel=OUTPUT,
    ),
]
Memory = Annotated[
    str,
    typer.Option(
        help="Memory that preprocess may take, whatever the input (bytes, or with a unit). Libraries come on top, at most "
        "300 MB. The dataset does not depend on it.",
        rich_help_panel=OUTPUT,
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        help="plain, or ray: --workers read and sort the input (pip install 'marius-lite\\[ray]'), on this machine, or on the "
        "cluster at RAY_ADDRESS. The dataset is the same.",
        rich_help_panel=OUTPUT,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Workers of --engine ray, 2 if not given. Each takes its part of --memory.", rich_help_panel=OUTPUT
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of the node order, of --split and of --node-split.", rich_help_panel=OUTPUT)]
Adjacency = Annotated[
    str,
    typer.Option(
        help="none, in or auto. in: also store the training edges by destination, which neighbour sampling needs. auto: in, "
        "if there are --labels; else none.",
        rich_help_panel=OUTPUT,
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a dataset that is there already.", rich_help_panel=OUTPUT)]
Undirected = Annotated[bool, typer.Option("--undirected", help="Store every edge in both directions.", rich_help_panel=CLEAN)]
DropDuplicates = Annotated[
    bool,
    typer.Option(
        "--drop-duplicates",
        rich_help_panel=CLEAN,
        help="Store equal edges of a split once, whatever their weights and times. The one that stays has "
        "the smallest weight that is not negative.",
    ),
]
DropSelfLoops = Annotated[
    bool, typer.Option("--drop-self-loops", help="Leave out edges from a node to itself. The node stays.", rich_help_panel=CLEAN)
]
OnBadRow = Annotated[
    str,
    typer.Option(
        help="error or skip. skip: leave out rows that cannot be read, and list them in bad_rows.parquet. A "
        "damaged file is an error all the same.",
        rich_help_panel=CLEAN,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")]
