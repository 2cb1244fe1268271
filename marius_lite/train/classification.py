"""Classifying the nodes of a split with the model and the rows of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from marius_lite.config.schema import Config
from marius_lite.evaluate.classification import ClassCounts
from marius_lite.graph.dataset import Dataset
from marius_lite.nn.classifier import NodeClassifier
from marius_lite.storage.table import RowTable
from marius_lite.train.vectors import InputRows, vectors


def classify_split(dataset: Dataset, model: NodeClassifier, config: Config, table: RowTable | None, split: str,
                   folder: Path) -> dict[str, Any]:
    """Accuracy and macro-F1 over all nodes of ``split``, from full neighbourhoods; ``folder`` takes the scratch files."""
    labels = dataset.labels
    assert labels is not None
    nodes, rows = dataset.node_split(split), dataset.partitioning.rows
    counts = ClassCounts(labels.classes)
    with vectors(dataset, config, model.encoder, InputRows(dataset, config, table), folder) as scores:
        for k in np.unique(nodes // rows).tolist():
            offsets = nodes[(nodes >= k * rows) & (nodes < (k + 1) * rows)] - k * rows
            answers = scores.read_rows(k, offsets, slice(0, labels.classes)).argmax(1)
            counts.add_answers(answers, labels.read(k)[offsets])
    return counts.summary(split)
