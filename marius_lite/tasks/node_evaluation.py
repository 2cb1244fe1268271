"""Classify the nodes of a split with the model and the rows of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from marius_lite.config.schema import Config
from marius_lite.encode.layerwise import LayerScores
from marius_lite.encode.vectors import vectors
from marius_lite.graph.dataset import Dataset
from marius_lite.nn.classifier import NodeClassifier
from marius_lite.nn.encoders import CustomEncoder, Layered
from marius_lite.nn.encoders.one_layer import RowModel
from marius_lite.storage.table import RowTable
from marius_lite.tasks.labelling import labelling
from marius_lite.types import Ids

SCORES = 1 << 20
"""How many scores are read at a time."""


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
        labelling(dataset).figures(len(nodes), labels.classes, folder) as figures,
    ):
        for k, offsets in by_partition(nodes, dataset.partitioning.rows):
            read = labels.reader(k)
            for part in blocks(offsets, labels.classes):
                figures.add(scores.read_rows(k, part, slice(0, labels.classes)), read(part))
        summary = figures.summary(split, dataset.class_names)
    names = dataset.manifest.class_names
    return {**summary, **({"class_names": [*names]} if names else {})}


class Scores(Protocol):
    """The scores of all nodes, read by partition."""

    def read_rows(self, k: int, offsets: Ids, columns: slice) -> npt.NDArray[np.float32]:
        """Return columns of the scores of partition k's nodes at ascending ``offsets``."""


def open_scores(
    dataset: Dataset, config: Config, encoder: Layered | CustomEncoder | RowModel, table: RowTable | None, folder: Path
) -> AbstractContextManager[Scores]:
    """Open the scores of all nodes: from full neighbourhoods, or from what a layer has gathered that is trained alone."""
    if isinstance(encoder, RowModel):
        return nullcontext(LayerScores(dataset, encoder))
    return vectors(dataset, config, encoder, table, folder)


def by_partition(nodes: Ids, rows: int) -> Iterator[tuple[int, Ids]]:
    """Yield (partition, offsets inside it) of nodes, whose ids ascend. ``rows``: those of a partition."""
    for k in np.unique(nodes // rows).tolist():
        low, high = np.searchsorted(nodes, [k * rows, (k + 1) * rows])
        yield k, nodes[low:high] - k * rows


def blocks(offsets: Ids, width: int) -> Iterator[Ids]:
    """Split offsets into blocks that have at most SCORES numbers, ``width`` for each offset; at least one offset a block."""
    size = max(1, SCORES // width)
    return (offsets[start : start + size] for start in range(0, len(offsets), size))
