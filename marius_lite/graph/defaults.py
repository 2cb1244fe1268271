"""The configuration of a run that was given none: the preset that suits the dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from marius_lite.config import machine, presets
from marius_lite.config.load import load
from marius_lite.config.schema import Config
from marius_lite.graph.dataset import Dataset
from marius_lite.log import log


def config_for(dataset: Dataset, file: Path | str | None, sets: Sequence[str] = ()) -> Config:
    """`load`, from the suitable preset where there is no ``file``; the log tells which, and why.

    Who chooses a task or an encoder has left what presets know: then the defaults hold that docs/configuration.md lists.
    """
    if file is not None or any(item.startswith(("task=", "model.encoder=")) for item in sets):
        return load(file, sets)
    name, why = presets.suitable(shape_of(dataset))
    preset = presets.PREFIX + name
    config = load(preset, sets)
    log.info(f"settings of {preset} ({why}); `--config {presets.PREFIX}NAME` takes others, of {', '.join(presets.PRESETS)}")
    return config


def shape_of(dataset: Dataset) -> presets.Shape:
    manifest = dataset.manifest
    classified = bool(dataset.features and dataset.labels and dataset.node_counts and dataset.adjacency)
    return presets.Shape(nodes=manifest.nodes, edges=manifest.edges["train"], relations=manifest.relations, classified=classified,
                         available_memory=machine.available_memory())
