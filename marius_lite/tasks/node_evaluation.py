"""Classify the nodes of a split with the model and the rows of a run."""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from typing import Any

from marius_lite.config.schema import Config
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.linear_test import FEWEST
from marius_lite.log import log
from marius_lite.nn.classifier import NodeClassifier
from marius_lite.storage.table import RowTable
from marius_lite.tasks.class_scores import open_scores
from marius_lite.tasks.labelling import labelling
from marius_lite.tasks.node_blocks import blocks, by_partition

CHANCE = 0.55
"""Area under the ROC curve, which is 0.5 by chance, up to which the order of nodes by their scores says hardly anything."""


def classify_split(
    dataset: Dataset, model: NodeClassifier, config: Config, split: str, folder: Path, table: RowTable | None
) -> dict[str, Any]:
    """Return the figures over all nodes of ``split``, from full neighbourhoods.

    ``folder``: where scratch files lie meanwhile. ``table``: the learned rows with their checksums, None where there are none.
    """
    labels = dataset.required_labels()
    nodes = dataset.node_split(split)
    with (
        open_scores(dataset, config, model.encoder, table, folder, nodes) as scores,
        labelling(dataset).figures(len(nodes), labels.classes, folder, scores.calibration) as figures,
    ):
        for k, offsets in by_partition(nodes, dataset.partitioning.rows):
            read = labels.reader(k)
            for part in blocks(offsets, labels.classes):
                figures.add(scores.read(k, part, labels.classes), read(part))
        summary = figures.summary(split, dataset.class_names)
    names = dataset.manifest.class_names
    return {**summary, **({"class_names": [*names]} if names else {})}


def warn_of_chance(result: dict[str, Any], several: bool, by_accuracy: bool = True) -> None:
    """Warn where classes are told hardly better than without any model.

    ``several``: whether a node may have several classes. Then nodes are only ordered by each class; otherwise it matters too how
    many the most frequent class would tell. ``by_accuracy``: whether the run chose its checkpoint by how many are told right.
    """
    area, count = result["roc_auc"], result["count"]
    if area is None or count < FEWEST:
        return
    by_chance = area < CHANCE
    found = [f"nodes are ordered by their classes hardly better than by chance (roc_auc is {area:.2f})"] if by_chance else []
    if not several:
        right, usual = result["accuracy"], max(each["count"] for each in result["per_class"].values()) / count
        margin = 2 * sqrt(usual * (1 - usual) / count)
        if by_chance and right > usual + margin:
            return
        if by_chance or (by_accuracy and right < usual - margin):
            found.append(f"{right:.1%} are told right, where always answering the most frequent class would tell {usual:.1%}")
    if found:
        log.warning(
            "%s: the model has not learned what this split asks; take another encoder (model.encoder: sage, gcn), other ends of "
            "edges (model.directions), features that say more, or more training nodes",
            ", and ".join(found),
        )
