"""Presets: settings that suit a kind of graph, as YAML files beside this one, and the choice among them for a dataset.

A preset is a configuration file. Its section ``decoders`` holds what another decoder than the preset's own needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import yaml

from marius_lite.errors import UserError

PREFIX = "preset:"
PRESETS = {
    "kg-small": "knowledge graphs whose every node can be a negative of every edge",
    "kg": "knowledge graphs of any size",
    "kg-large": "graphs whose rows are large beside the memory",
    "social": "graphs of one relation, with a direction or without",
    "sage": "classes of nodes with features, sampled neighbourhoods",
    "gcn": "classes of nodes with features, small graphs",
    "plain": "the defaults of docs/configuration.md, whatever the dataset",
}
FULL_SCORES = 10**10
"""Edges times nodes up to which an epoch of scores with every node is a matter of minutes on two cores."""
FEW_NODES = 50_000
"""Nodes up to which a graph's full neighbourhoods are quick."""
LARGE_ROWS = 0.5
"""Share of the free memory above which rows of the preset's numbers with their state are large."""


@dataclass(frozen=True)
class GraphShape:
    """Facts that choose a preset. ``classified``: nodes have features, labels, splits and in-edge lists."""

    nodes: int
    edges: int
    relations: int
    classified: bool
    available_memory: int


def suitable(shape: GraphShape) -> tuple[str, str]:
    """Choose the preset for a dataset, and say why."""
    for name, fits, why in _choices(shape):
        if fits:
            return name, why
    raise AssertionError("the last choice fits everything")


def _choices(shape: GraphShape) -> list[tuple[str, bool, str]]:
    nodes = f"{shape.nodes:,} nodes"
    relations = f"{shape.relations:,} relations" if shape.relations > 1 else "one relation"
    return [
        ("gcn", shape.classified and shape.nodes <= FEW_NODES, f"{nodes} with features and classes"),
        ("sage", shape.classified, f"{nodes} with features and classes"),
        ("social", shape.relations <= 1 and _fits("social", shape), f"{nodes}, one relation"),
        ("kg-small", shape.nodes * shape.edges <= FULL_SCORES and _fits("kg-small", shape),
         f"{relations}; {nodes}, few enough to compare each edge with all"),
        ("kg", _fits("kg", shape), f"{relations}; {nodes}, too many to compare each edge with all"),
        ("kg-large", True, f"{relations}; {nodes}, whose rows are large beside the free memory"),
    ]


def _fits(name: str, shape: GraphShape) -> bool:
    """Whether the preset's rows, with as many numbers of optimizer state, are small beside the free memory."""
    return bool(shape.nodes * 2 * read(name, None)["model"]["dim"] * 4 <= LARGE_ROWS * shape.available_memory)


def read(name: str, decoder: str | None) -> dict[str, Any]:
    """Read a preset's sections, for its own decoder or another."""
    if name not in PRESETS:
        raise UserError(f"{PREFIX}{name}: no such preset: there are {', '.join(PRESETS)}")
    text = files("marius_lite.config").joinpath(f"presets/{name}.yaml").read_text(encoding="utf-8")
    tree: dict[str, Any] = yaml.safe_load(text) or {}
    changes = tree.pop("decoders", {}).get(decoder, {})
    result: dict[str, Any] = merged(tree, changes)
    return result


def merged(under: Any, over: Any) -> Any:
    """Merge two trees: values of ``over`` where it has some, of ``under`` elsewhere."""
    if not isinstance(under, dict) or not isinstance(over, dict):
        return over
    return {**under, **{key: merged(under.get(key), value) for key, value in over.items()}}
