"""Open what is done with an encoder's input before its first layer: the normalization of features, codes, known classes."""

from __future__ import annotations

import torch

from marius_lite.config.schema import Config
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.feature_sample import sampled
from marius_lite.graph.features import Features
from marius_lite.graph.inputs import features_read
from marius_lite.graph.known_classes import KnownClasses
from marius_lite.nn.inputs import CodeColumns, DividedRows, KnownColumns, LogColumns, Normalize, StandardColumns, as_they_are


def normalization(
    dataset: Dataset, config: Config, device: torch.device | str = "cpu", known: KnownClasses | None = None
) -> Normalize:
    """Return what `model.normalize_features` and `model.codes` ask for, for rows on ``device``: `KnownColumns` where classes
    are ``known``.

    The means and deviations of columns are those of a sample that follows from the dataset alone. So they are the same whenever
    a run is opened. Raises RunError for features that cannot be read.
    """
    features, codes = features_read(dataset, config), config.model.codes
    normalize: Normalize = as_they_are
    if features is not None:
        normalize = _normalized(features, config, device)
        normalize = CodeColumns(features.width, codes, normalize, device) if codes else normalize
    return KnownColumns(known.shares, normalize, device) if known else normalize


def _normalized(features: Features, config: Config, device: torch.device | str) -> Normalize:
    asked, most = config.model.normalize_features, config.model.most_deviations
    if asked == "columns":
        sample = sampled(features)
        return StandardColumns(sample.means, sample.deviations, most, device)
    if asked == "logs":
        sample = sampled(features, logs=True)
        return LogColumns(sample.units, sample.means, sample.deviations, most, device)
    return DividedRows(features.width) if asked else as_they_are
