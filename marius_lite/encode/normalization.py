"""Open what is done with an encoder's input before its first layer: the normalization of features."""

from __future__ import annotations

import torch

from marius_lite.config.schema import Config
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.feature_sample import sampled
from marius_lite.graph.inputs import feature_width, features_read
from marius_lite.nn.inputs import DividedRows, LogColumns, Normalize, StandardColumns, as_they_are


def normalization(dataset: Dataset, config: Config, device: torch.device | str = "cpu") -> Normalize:
    """Return what `model.normalize_features` asks for, for rows on ``device``.

    The means and deviations of columns are those of a sample that follows from the dataset alone. So they are the same whenever
    a run is opened. Raises RunError for features that cannot be read.
    """
    features, asked = features_read(dataset, config), config.model.normalize_features
    if features is None or not asked:
        return as_they_are
    if asked == "columns":
        sample = sampled(features)
        return StandardColumns(sample.means, sample.deviations, device)
    if asked == "logs":
        sample = sampled(features, logs=True)
        return LogColumns(sample.units, sample.means, sample.deviations, device)
    return DividedRows(feature_width(dataset, config))
