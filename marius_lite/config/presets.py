"""Read presets, which are settings that suit a kind of graph, and choose one for a dataset.

A preset is a configuration file in the folder ``presets``. Its section ``decoders`` holds what changes with another decoder than
the preset's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from marius_lite.errors import UserError

PREFIX = "preset:"
PRESETS = {
    "kg-small": "knowledge graphs whose every node can be a negative of every edge",
    "kg": "knowledge graphs of any size",
    "kg-large": "graphs whose rows are large beside the memory",
    "social": "graphs of one relation, with a direction or without",
    "encoder": "links through an encoder, in small graphs",
    "sage": "classes of nodes with features, sampled neighbourhoods",
    "gcn": "classes of nodes with features, small graphs",
    "plain": "the defaults of docs/configuration.md, whatever the dataset",
}
LINKS, NODES = "link_prediction", "node_classification"
"""The tasks that presets are for. Where a preset names none, it is the first."""
FULL_SCORES = 10**10
"""The most edges times nodes for a preset that scores every edge with every node. Two cores then take minutes for an epoch."""
FEW_NODES = 50_000
"""The most nodes for a preset that takes full neighbourhoods, as it is."""
FEW_EDGES = 1_000_000
"""The most training edges for a preset of small batches. With more of them, large ones are steps enough."""
ALIKE = 0.1
"""How much more often than by chance (0) linked nodes must be of one class (1: always) for a preset that takes a node for one
of its neighbours."""
LARGE_ROWS = 0.5
"""The largest share of the free memory that the rows of a preset and their optimizer state may take; above it they are large."""


@dataclass(frozen=True)
class GraphShape:
    """The facts by which a preset is chosen.

    ``classified``: whether nodes have features, labels, splits and in-edge lists. ``featureless``: whether they have all of these
    but features. ``split``: whether edges are split too, not only nodes. ``encoded``: whether an encoder is asked for.
    ``unlike``: whether linked nodes are hardly more often of one class than by chance. ``far``: whether more than two hops are
    taken: layers are then fitted one after another, which needs no neighbourhoods. ``placed``: whether nodes with features have
    learned rows all the same.
    """

    nodes: int
    edges: int
    relations: int
    classified: bool
    available_memory: int
    encoded: bool = False
    unlike: bool = False
    featureless: bool = False
    split: bool = False
    far: bool = False
    placed: bool = False

    @property
    def task(self) -> str:
        """The task that the dataset suggests."""
        return NODES if self.classified or (self.featureless and not self.split) else LINKS


def suitable(shape: GraphShape, task: str | None = None) -> tuple[str, str]:
    """Return the name of the preset for a dataset, and why it was chosen. ``task``: if it is not the one that suggests itself."""
    wanted = task or shape.task
    for name, fits, why in _choices(shape):
        if fits and _task_of(name) == wanted:
            return name, why
    return "plain", f"no other preset is for `task` {wanted}"


def _task_of(name: str) -> str:
    return str(read(name, None).get("task", LINKS))


def _choices(shape: GraphShape) -> list[tuple[str, bool, str]]:
    """Return (preset, whether it fits graphs for its task, why it would be chosen), the first choice of each task first."""
    nodes = f"{shape.nodes:,} nodes"
    kind = f"{nodes} with features and classes" if shape.classified else nodes
    plain = f"{nodes} with classes, without features"
    relations = f"{shape.relations:,} relations" if shape.relations > 1 else "one relation"
    return [
        ("gcn", shape.classified and (shape.nodes <= FEW_NODES or shape.far or shape.placed) and not shape.unlike, kind),
        # Sage learns a row of each node by heart, besides those of its neighbours.
        ("gcn", shape.featureless and not shape.unlike, plain),
        ("sage", True, kind + (", of which neighbours say more apart from the node" if shape.unlike else "")),
        # The others are for learned rows alone: with kg's and kg-small's settings GraphSAGE learned next to nothing of links.
        ("encoder", shape.encoded and shape.edges <= FEW_EDGES, f"{relations}; {nodes}, links through an encoder"),
        ("plain", shape.encoded, f"{relations}; {nodes}, more links through an encoder than small batches soon go through"),
        ("social", shape.relations <= 1 and _fits("social", shape), f"{nodes}, one relation"),
        (
            "kg-small",
            shape.nodes * shape.edges <= FULL_SCORES and _fits("kg-small", shape),
            f"{relations}; {nodes}, few enough to compare each edge with all",
        ),
        ("kg", _fits("kg", shape), f"{relations}; {nodes}, too many to compare each edge with all"),
        ("kg-large", True, f"{relations}; {nodes}, whose rows are large beside the free memory"),
    ]


def _fits(name: str, shape: GraphShape) -> bool:
    """Return whether the preset's rows, with as many numbers of optimizer state, are small beside the free memory."""
    return bool(shape.nodes * 2 * read(name, None)["model"]["dim"] * 4 <= LARGE_ROWS * shape.available_memory)


def read(name: str, decoder: str | None) -> dict[str, Any]:
    """Return the sections of a preset, for its own decoder (None) or another. Raises UserError for a name that is no preset."""
    from importlib.resources import files

    import yaml  # the help of commands needs the names alone

    if name not in PRESETS:
        raise UserError(f"{PREFIX}{name}: no such preset: there are {', '.join(PRESETS)}")
    text = files("marius_lite.config").joinpath(f"presets/{name}.yaml").read_text(encoding="utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where PyYAML has it
    tree: dict[str, Any] = yaml.load(text, loader) or {}
    changes = tree.pop("decoders", {}).get(decoder, {})
    result: dict[str, Any] = merged(tree, changes)
    return result


def merged(under: Any, over: Any) -> Any:
    """Return two trees merged: the values of ``over`` where it has some, those of ``under`` elsewhere."""
    if not isinstance(under, dict) or not isinstance(over, dict):
        return over
    return {**under, **{key: merged(under.get(key), value) for key, value in over.items()}}
