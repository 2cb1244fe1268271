"""Find the weight of an edge that counts as one neighbour, where nothing is said of it."""

from __future__ import annotations

import numpy as np

from marius_lite.config.edge_weights import may_weigh
from marius_lite.config.schema import Config
from marius_lite.graph.adjacency import Adjacency
from marius_lite.graph.dataset import Dataset
from marius_lite.log import log

EDGES_READ = 1 << 24
"""Partitions are read until so many edges were: enough for a mean."""


def with_unit(dataset: Dataset, config: Config) -> Config:
    """Return the configuration with a number for `model.weight_unit`. Raises UserError for a damaged dataset."""
    if config.model.weight_unit != "auto":
        return config
    unit, lists = 0.0, dataset.adjacency
    if lists is not None and lists.has_weights and may_weigh(config):
        unit = mean_weight(lists) or 0.0
        if unit:
            log.info(
                f"model.weight_unit={unit:g}, because edges have weights, whose mean it is: neighbours count by them; "
                "--set model.weight_unit=0 lets all count alike"
            )
        else:
            log.info("all edges count alike: their weights are all the same, or some are below 0 or not finite")
    return config.model_copy(update={"model": config.model.model_copy(update={"weight_unit": unit})})


def mean_weight(lists: Adjacency) -> float | None:
    """Return the mean weight of edges, as float32. None where all are the same, or some are below 0 or not finite.

    Of large graphs some partitions are read, at even distances.
    """
    partitions = lists.partitioning.partitions
    every = max(1, -(-int(lists.starts[-1]) // EDGES_READ))
    total, edges, least, most = 0.0, 0, np.inf, -np.inf
    for k in range(0, partitions, min(every, partitions)):
        weights = lists.read(k, weights=True, relations=False).weights
        assert weights is not None
        if len(weights):  # NaN stays NaN
            least, most = np.minimum(least, weights.min()), np.maximum(most, weights.max())
        total += float(weights.sum(dtype=np.float64))
        edges += len(weights)
    mean = float(np.float32(total / max(1, edges)))
    return mean if 0 <= least < most < np.inf and mean > 0 else None
