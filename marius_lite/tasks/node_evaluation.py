"""Classify the nodes of a split with the model and the rows of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from marius_lite.config.schema import Config
from marius_lite.graph.dataset import Dataset
from marius_lite.nn.classifier import NodeClassifier
from marius_lite.storage.table import RowTable
from marius_lite.tasks.class_scores import open_scores
from marius_lite.tasks.labelling import labelling
from marius_lite.tasks.node_blocks import blocks, by_partition


def classify_split(
    dataset: Dataset, model: NodeClassifier, config: Config, split: str, folder: Path, table: RowTable | None
) -> dict[str, Any]:
    """Return the figures over all nodes of ``split``, from full neighbourhoods.

    ``folder``: where scratch files lie meanwhile. ``table``: the learned rows with their checksums, None where there are none.
    """
    labels = dataset.required_labels()
    nodes = dataset.node_split(split)
    with (
        open_scores(dataset, config, model.encoder, table, folder) as scores,
        labelling(dataset).figures(len(nodes), labels.classes, folder, scores.calibration) as figures,
    ):
        for k, offsets in by_partition(nodes, dataset.partitioning.rows):
            read = labels.reader(k)
            for part in blocks(offsets, labels.classes):
                figures.add(scores.read(k, part, labels.classes), read(part))
        summary = figures.summary(split, dataset.class_names)
    names = dataset.manifest.class_names
    return {**summary, **({"class_names": [*names]} if names else {})}
