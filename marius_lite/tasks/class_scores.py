"""Read the scores that a model gives the classes of nodes.

Where a node may have several classes, the logistic function of a score is a probability, and a node is given the classes that are
probable enough. A model that was trained on some neighbours of each node is evaluated on all of them. Its scores order classes
then, but they are too small, or lie to one side: few classes, or many, come out as more likely than not. So scores are scaled as
the labels of the validation nodes say, by Platt scaling, one for all classes; and those are given that are as probable as gives
the highest micro F1 on these nodes. Classes that few nodes have may never come out as more likely than not.
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
from marius_lite.encode.vectors import vectors
from marius_lite.evaluate.platt import PlattScaling, fit_platt
from marius_lite.graph.dataset import Dataset
from marius_lite.nn.encoders import CustomEncoder, Layered
from marius_lite.nn.encoders.one_layer import RowModel
from marius_lite.seeds import generator_for
from marius_lite.storage.table import RowTable
from marius_lite.tasks.node_blocks import blocks, by_partition
from marius_lite.types import Ids

FITTED = 1 << 18
"""Scores that a calibration is fitted on, at most. It has three numbers."""

Values = npt.NDArray[np.float32]


class StoredScores(Protocol):
    """Scores of all nodes, read by partition."""

    def read_rows(self, k: int, offsets: Ids, columns: slice) -> Values:
        """Return columns of the scores of partition k's nodes at ascending ``offsets``."""


class Calibration(NamedTuple):
    """How scores become log odds, and from which log odds on a node is given a class."""

    scaling: PlattScaling
    least: float


class ClassScores:
    """The scores of all nodes. Where they are calibrated, they are log odds. A node is given a class from ``least`` on."""

    def __init__(self, stored: StoredScores, calibration: Calibration | None = None):
        self._stored, self._scaling = stored, calibration.scaling if calibration else None
        self.least = calibration.least if calibration else 0.0

    def read_rows(self, k: int, offsets: Ids, columns: slice) -> Values:
        """Return columns of the scores of partition k's nodes at ascending ``offsets``."""
        found = self._stored.read_rows(k, offsets, columns)
        return found if self._scaling is None else self._scaling.odds(found).astype(np.float32)


@contextmanager
def open_scores(
    dataset: Dataset, config: Config, encoder: Layered | CustomEncoder | RowModel, table: RowTable | None, folder: Path
) -> Iterator[ClassScores]:
    """Open the scores of all nodes. ``folder``: where scratch files lie meanwhile.

    Where nodes may have several classes they are calibrated, if ``config.evaluation.calibrated`` says so.
    """
    with _stored(dataset, config, encoder, table, folder) as stored:
        wanted = config.evaluation.calibrated and dataset.manifest.multi_label
        yield ClassScores(stored, calibrated(dataset, stored, config.training.seed) if wanted else None)


def _stored(
    dataset: Dataset, config: Config, encoder: Layered | CustomEncoder | RowModel, table: RowTable | None, folder: Path
) -> AbstractContextManager[StoredScores]:
    """Open the model's scores: from full neighbourhoods, or from what a layer has gathered that is trained alone."""
    if isinstance(encoder, RowModel):
        return nullcontext(LayerScores(dataset, encoder))
    return vectors(dataset, config, encoder, table, folder)


def calibrated(dataset: Dataset, scores: StoredScores, seed: int) -> Calibration | None:
    """Return what makes of scores what they say, fitted on at most FITTED scores of validation nodes, which may have several
    classes.

    None where these nodes do not both have and lack classes, where scores are not finite, and where higher ones are not more
    likely. The same dataset, scores and seed give the same calibration.
    """
    true, false = _of_validation(dataset, scores, seed)
    if not len(true) or not len(false) or not np.isfinite([true.sum(), false.sum()]).all():
        return None
    scaling = fit_platt(true, false)
    return Calibration(scaling, float(scaling.odds(best_threshold(true, false)))) if scaling.slope > 0 else None


def _of_validation(dataset: Dataset, scores: StoredScores, seed: int) -> tuple[Values, Values]:
    """Return the scores of classes that validation nodes have, and of those that they have not."""
    labels, nodes = dataset.required_labels(), dataset.node_split("valid")
    most = max(1, FITTED // labels.classes)
    if len(nodes) > most:
        nodes = np.sort(generator_for(seed, "classes/calibration").choice(nodes, most, replace=False))
    true, false = ([np.empty(0, np.float32)] for _ in range(2))
    for k, offsets in by_partition(nodes, dataset.partitioning.rows):
        read = labels.reader(k)
        for part in blocks(offsets, labels.classes):
            given, found = read(part), scores.read_rows(k, part, slice(0, labels.classes))
            true.append(found[given == 1])  # -1 stands for no label
            false.append(found[given == 0])
    return np.concatenate(true), np.concatenate(false)


def best_threshold(true: Values, false: Values) -> npt.NDArray[np.float64]:
    """Return the score, float64 (), from which on to say yes for the highest F1: midway between two scores, or the lowest one.

    ``true``: scores of cases where yes is right, at least one. ``false``: of others.
    """
    scores = np.concatenate([true, false]).astype(np.float64)
    order = np.argsort(-scores, kind="stable")
    scores, right = scores[order], np.cumsum(order < len(true))
    last = np.flatnonzero(np.append(scores[1:] < scores[:-1], True))  # of equal scores
    best = last[np.argmax(2 * right[last] / (len(true) + last + 1))]
    return np.asarray(scores[best : best + 2].mean())
