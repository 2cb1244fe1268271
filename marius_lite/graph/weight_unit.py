"""Find the weight of an edge that counts as one neighbour, where nothing is said of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marius_lite.config.edge_weights import may_weigh
from marius_lite.config.schema import Config
from marius_lite.graph.dataset import Dataset
from marius_lite.log import log

EDGES_READ = 1 << 24
"""Partitions are read until so many edges were: enough for a mean."""
LEAST_ABOVE = 0.25
"""Share of edges of weights above 0 from which on weights are taken for how near nodes are, where others are below 0."""


@dataclass(frozen=True)
class Weights:
    """What edges' weights are like. ``mean``: where those below 0 count 0. ``above``: the share of those above 0."""

    least: float
    most: float
    mean: float
    above: float

    @property
    def unit(self) -> float | None:
        """The weight that counts as one neighbour: the mean, as float32. None where all edges should count alike."""
        return None if self.useless else self.mean

    @property
    def useless(self) -> str:
        """Why all edges should count alike; empty where they need not."""
        if self.least == self.most:
            return f"all are {self.most:g}"
        if not 0 < self.mean < np.inf or (self.least < 0 and self.above < LEAST_ABOVE):
            return f"{self.above:.0%} are above 0 (from {self.least:g} to {self.most:g})"
        return ""


def with_unit(dataset: Dataset, config: Config) -> Config:
    """Return the configuration with a number for `model.weight_unit`. Raises UserError for a damaged dataset."""
    if config.model.weight_unit != "auto":
        return config
    unit, weights = 0.0, weights_of(dataset) if may_weigh(config) else None
    if weights is not None:
        unit = weights.unit or 0.0
        below = f", and those below 0 (down to {weights.least:g}) count 0" if weights.least < 0 else ""
        if unit:
            log.info(
                f"model.weight_unit={unit:g}, because edges have weights, whose mean it is: neighbours count by them{below}; "
                "--set model.weight_unit=0 lets all count alike"
            )
        else:
            log.info(f"all edges count alike, whatever their weights: {weights.useless}")
    return config.model_copy(update={"model": config.model.model_copy(update={"weight_unit": unit})})


def unit_of(dataset: Dataset) -> float | None:
    """Return the weight that counts as one neighbour. None where all edges should count alike, or have no weights."""
    weights = weights_of(dataset)
    return None if weights is None else weights.unit


def weights_of(dataset: Dataset) -> Weights | None:
    """Return what the weights of edges are like; None where they have none.

    Of large graphs some partitions are read, at even distances. Raises UserError for a damaged dataset.
    """
    lists = dataset.adjacency
    if lists is None or not lists.has_weights:
        return None
    partitions = lists.partitioning.partitions
    every = max(1, -(-int(lists.starts[-1]) // EDGES_READ))
    total, edges, above, least, most = 0.0, 0, 0, np.inf, -np.inf
    for k in range(0, partitions, min(every, partitions)):
        weights = lists.read(k, weights=True, relations=False).weights
        assert weights is not None
        if len(weights):  # NaN stays NaN
            least, most = np.minimum(least, weights.min()), np.maximum(most, weights.max())
        counted = np.maximum(weights, 0)
        total += float(counted.sum(dtype=np.float64))
        above += int(np.count_nonzero(counted))
        edges += len(weights)
    mean = float(np.float32(total / max(1, edges)))
    return Weights(float(least), float(most), mean, above / max(1, edges))
