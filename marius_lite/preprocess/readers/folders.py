"""Folders in which other programs keep datasets: which of their files hold the edges."""

from __future__ import annotations

import dataclasses
import re
from contextlib import closing
from pathlib import Path

from marius_lite.errors import UserError
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.graphbolt import graphbolt_edges, graphbolt_nodes
from marius_lite.preprocess.readers.marius_bin import COUNTS, FACTS
from marius_lite.preprocess.readers.source import ByteStream

COUNT = re.compile("[0-9]{1,18}")
OGB_EDGES, OGB_NODES, OGB_TYPES = "edge.csv.gz", "num-node-list.csv.gz", "edge_reltype.csv.gz"


def with_folders_opened(options: Options) -> Options:
    """Return ``options`` with edge files in place of a Marius, GraphBolt or OGB folder. Other folders stay. Raises UserError."""
    if len(options.edges) != 1 or not (folder := Path(options.edges[0])).is_dir():
        return options
    if (folder / FACTS).exists():
        paths = [folder / "edges" / name for name in COUNTS]
        files = [(str(path),) if path.exists() else () for path in paths]
        if options.valid or options.test:
            raise UserError(f"{folder}: a Marius dataset, which has its own splits: leave out --valid and --test")
        if options.fractions is not None and (files[1] or files[2]):
            raise UserError(f"{folder}: a Marius dataset, which has its own splits: leave out --split, or name {paths[0]}")
        return dataclasses.replace(options, edges=files[0], valid=files[1], test=files[2]) if files[0] else options
    if (graph := graphbolt_edges(folder)) is not None:
        return dataclasses.replace(options, edges=(str(graph[0]),))
    edges = next((place for place in (folder / "raw", folder) if (place / OGB_EDGES).exists()), None)
    if edges is None:
        return options
    if (edges / OGB_TYPES).exists():
        raise UserError(
            f"{folder}: an OGB knowledge graph, whose relations stand in a file of their own: write source, relation "
            "and destination into one file"
        )
    return dataclasses.replace(options, edges=(str(edges / OGB_EDGES),))


def announced_nodes(path: Path) -> int | None:
    """Return how many nodes there are, where the folder of an edge file says it. Raises UserError for several graphs."""
    nodes = _ogb_nodes(path)
    return graphbolt_nodes(path) if nodes is None else nodes


def _ogb_nodes(path: Path) -> int | None:
    beside = path.with_name(OGB_NODES)
    if path.name != OGB_EDGES or not beside.exists():
        return None
    with closing(ByteStream(beside)) as stream:
        numbers = stream.read(1 << 16).decode("utf-8", "replace").split()
    if len(numbers) != 1 or not COUNT.fullmatch(numbers[0]):
        raise UserError(
            f"{beside}: {len(numbers)} lines, beginning with {' '.join(numbers)[:40]!r}: must hold the number of "
            "nodes of one graph; collections of graphs are not read"
        )
    return int(numbers[0])
