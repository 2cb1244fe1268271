"""Data folders of GraphBolt: ``metadata.yaml`` names the file that holds the edges, and says how many nodes there are.

Source: the specification of OnDiskDataset, https://www.dgl.ai/dgl_docs/stochastic_training/ondisk-dataset-specification.html.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from marius_lite.config.yaml_text import parse_yaml, shown
from marius_lite.errors import UserError
from marius_lite.files import reading

METADATA = "metadata.yaml"


def graphbolt_edges(folder: Path) -> tuple[Path, int] | None:
    """Return (file of the edges, number of nodes) of a folder; None where it has no such graph. Raises UserError for several
    types."""
    path = folder / METADATA
    if not path.is_file():
        return None
    with reading(path):
        text = path.read_bytes()
    try:
        metadata = parse_yaml(text)
    except ValueError:
        return None
    graph = metadata.get("graph") if isinstance(metadata, dict) else None
    nodes, edges = _entries(graph, "nodes", "num"), _entries(graph, "edges", "path")
    if not nodes or not edges:
        return None
    if len(nodes) > 1 or len(edges) > 1:
        raise UserError(
            f"{path}: {len(nodes)} types of nodes, {len(edges)} of edges: write source, relation and destination, "
            "with ids that are unlike between types, into one file"
        )
    count = nodes[0]["num"]
    if not isinstance(count, int) or count < 0:
        raise UserError(f"{path}: num: {shown(count)}: must be the number of nodes")
    return folder / str(edges[0]["path"]), count


def graphbolt_nodes(file: Path) -> int | None:
    """Return how many nodes a GraphBolt folder announces for its edge file ``file``; None for any other file."""
    for folder in list(file.absolute().parents)[:3]:
        edges = graphbolt_edges(folder)
        if edges is not None and edges[0].absolute() == file.absolute():
            return edges[1]
    return None


def _entries(graph: Any, name: str, key: str) -> list[Any]:
    listed = graph.get(name) if isinstance(graph, dict) else None
    return [one for one in listed if isinstance(one, dict) and key in one] if isinstance(listed, list) else []
