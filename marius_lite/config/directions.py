"""Which ends of edges nodes take from (`model.directions`), and what tells these edges apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marius_lite.config.schema import Config


def apart(config: Config) -> bool:
    """Return whether turned edges are relations of their own."""
    return config.model.encoder == "rgcn" and config.model.directions == "both"


def listed_relations(config: Config, relations: int) -> int:
    """Return how many relations an encoder tells apart, where the dataset has so many."""
    return (2 * relations if apart(config) else relations) * (1 + len(config.model.weight_bounds))


def listed_counts(config: Config, bucket_counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return how many neighbours lists have: from nodes of partition i to those of j, (p, p). ``bucket_counts``: of edges."""
    if config.model.directions == "in":
        return bucket_counts
    turned: npt.NDArray[np.int64] = bucket_counts.T
    return turned if config.model.directions == "out" else bucket_counts + turned
