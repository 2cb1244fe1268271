"""Choose a configuration where none is given: the preset that suits the dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from marius_lite.config import machine, presets
from marius_lite.config.load import load
from marius_lite.config.schema import Config
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.symmetry import directions
from marius_lite.log import log

DECODER = "model.decoder="
PLAIN_LINKS = [presets.PREFIX + name for name in ("social", "kg-large")]
"""The presets for graphs of one relation."""
WITHOUT_BIASES = presets.PREFIX + "kg-large"
"""The one of them whose nodes have no biases."""


def config_for(dataset: Dataset, file: Path | str | None, sets: Sequence[str] = ()) -> Config:
    """Load a configuration. Where no ``file`` is given, it is the preset that suits the dataset. The log says which, and why.

    Where ``sets`` choose a task or an encoder, no preset is taken, but the defaults of docs/configuration.md.
    """
    if file is None and not any(item.startswith(("task=", "model.encoder=")) for item in sets):
        name, why = presets.suitable(shape_of(dataset))
        file = presets.PREFIX + name
        log.info(f"settings of {file} ({why}); `--config {presets.PREFIX}NAME` takes another: {', '.join(presets.PRESETS)}")
    config = load(file, [*_decoder(dataset, file, sets), *sets])
    if str(file) == WITHOUT_BIASES and dataset.manifest.relations <= 1 and not config.model.biases:
        log.warning(
            f"{WITHOUT_BIASES} has no biases (model.biases): where links follow little but the popularity of nodes, its "
            f"figures are below those of popularity alone: compare {presets.PREFIX}social, with fewer numbers a node (model.dim)"
        )
    return config


def _decoder(dataset: Dataset, file: Path | str | None, sets: Sequence[str]) -> list[str]:
    """Return the decoder dot, as a setting, where links have no direction and the preset's decoder would learn one."""
    given = any(item.startswith((DECODER, "model=")) for item in sets)
    if given or str(file) not in PLAIN_LINKS or dataset.manifest.relations > 1:
        return []
    links = directions(dataset)
    if links.perhaps_each_edge_once:
        log.info(
            "no edge is stored in both directions: where links have no direction, `preprocess --undirected` often gives better "
            "models: compare both by `eval`"
        )
    if not links.undirected:
        return []
    log.info(
        f"{DECODER}dot instead of {file}'s own, because edges are stored in both directions; --set {DECODER}NAME takes another"
    )
    return [DECODER + "dot"]


def shape_of(dataset: Dataset) -> presets.GraphShape:
    """Return the facts by which a preset is chosen."""
    manifest = dataset.manifest
    classified = bool(dataset.features and dataset.labels and dataset.node_counts and dataset.adjacency)
    return presets.GraphShape(
        nodes=manifest.nodes,
        edges=manifest.edges["train"],
        relations=manifest.relations,
        classified=classified,
        available_memory=machine.available_memory(),
    )
