"""Read the scores that a model gives the classes of nodes, and what they say.

A model that was trained on some neighbours of each node is evaluated on all of them, and dropout is off. Its scores order classes
well then, but they are too small, or too large, or lie to one side: where a node may have several classes, few come out as more
likely than not. So what scores say is fitted on the validation nodes (`evaluate.class_calibration`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from marius_lite.config.schema import Config
from marius_lite.encode.layerwise import LayerScores
from marius_lite.encode.vectors import vectors, vectors_of
from marius_lite.evaluate.class_calibration import UNFITTED, Calibration
from marius_lite.graph.dataset import Dataset
from marius_lite.nn.encoders import CustomEncoder, Layered
from marius_lite.nn.encoders.one_layer import RowModel
from marius_lite.seeds import generator_for
from marius_lite.storage.table import RowTable
from marius_lite.tasks.labelling import labelling
from marius_lite.tasks.node_blocks import blocks, by_partition
from marius_lite.types import Ids

FITTED = 1 << 18
"""Scores that a calibration is fitted on, at most. It has three numbers."""


class StoredScores(Protocol):
    """Scores of all nodes, read by partition."""

    def read_rows(self, k: int, offsets: Ids, columns: slice) -> npt.NDArray[np.float32]:
        """Return columns of the scores of partition k's nodes at ascending ``offsets``."""


class ClassScores(NamedTuple):
    """The scores of all nodes, and what they say."""

    stored: StoredScores
    calibration: Calibration

    def read(self, k: int, offsets: Ids, classes: int) -> npt.NDArray[np.float32]:
        """Return the scores (n, classes) of partition k's nodes at ascending ``offsets``."""
        return self.stored.read_rows(k, offsets, slice(0, classes))


@contextmanager
def open_scores(
    dataset: Dataset,
    config: Config,
    encoder: Layered | CustomEncoder | RowModel,
    table: RowTable | None,
    folder: Path,
    nodes: Ids | None = None,
) -> Iterator[ClassScores]:
    """Open the scores of ``nodes``, whose ids ascend; None: of all nodes. ``folder``: where scratch files lie meanwhile."""
    fitted = config.evaluation.calibrated and "valid" in dataset.node_counts
    given = fitted_nodes(dataset, config.training.seed) if fitted else np.empty(0, np.int64)
    wanted = None if nodes is None else np.union1d(nodes, given)
    with _stored(dataset, config, encoder, table, folder, wanted) as stored:
        yield ClassScores(stored, calibrated(dataset, stored, given) if fitted else UNFITTED)


def _stored(
    dataset: Dataset,
    config: Config,
    encoder: Layered | CustomEncoder | RowModel,
    table: RowTable | None,
    folder: Path,
    nodes: Ids | None,
) -> AbstractContextManager[StoredScores]:
    """Open the model's scores: from full neighbourhoods, or from what a layer has gathered that is trained alone."""
    if isinstance(encoder, RowModel):
        return nullcontext(LayerScores(dataset, encoder))
    if nodes is None:
        return vectors(dataset, config, encoder, table, folder)
    return vectors_of(nodes, dataset, config, encoder, table, folder)


def fitted_nodes(dataset: Dataset, seed: int) -> Ids:
    """Return the validation nodes that scores are fitted on: they have at most FITTED scores. The same for the same seed."""
    classes, nodes = dataset.required_labels().classes, dataset.node_split("valid")
    most = max(1, FITTED // classes)
    if len(nodes) > most:
        nodes = np.sort(generator_for(seed, "classes/calibration").choice(nodes, most, replace=False))
    return nodes


def calibrated(dataset: Dataset, stored: StoredScores, nodes: Ids) -> Calibration:
    """Return what scores say, fitted on those of ``nodes``.

    Nothing is fitted where there are none, or where scores are not finite. The same dataset and scores give the same.
    """
    labels = dataset.required_labels()
    scores, known = [], []
    for k, offsets in by_partition(nodes, dataset.partitioning.rows):
        read = labels.reader(k)
        for part in blocks(offsets, labels.classes):
            given = read(part)
            labelled = (given if given.ndim == 1 else given[:, 0]) >= 0
            known.append(given[labelled])
            scores.append(stored.read_rows(k, part, slice(0, labels.classes))[labelled])
    if not sum(map(len, scores)) or not all(np.isfinite(part).all() for part in scores):
        return UNFITTED
    return labelling(dataset).calibration(np.concatenate(scores), np.concatenate(known))
