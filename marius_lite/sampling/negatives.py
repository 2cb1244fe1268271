"""Shared negatives of a batch: from its own nodes, from all resident nodes, and from the pool of those that are not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marius_lite.seeds import generator_for, seed_for
from marius_lite.types import EdgeBatch, SampledBatch


@dataclass(frozen=True, slots=True)
class Resident:
    """Where uniform draws land: ``nodes`` resident nodes in partitions of ``partition_rows`` (the last may be short),
    ``base_rows`` their first buffer rows in the partitions' order; ``pool_rows`` the rows of the pool to draw from."""

    nodes: int
    partition_rows: int
    base_rows: npt.NDArray[np.int64]
    pool_rows: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NegativeSampler:
    """Draws (sides, chunks, count) negatives; each chunk is ordered [batch's nodes | resident | pool].

    Pool negatives are indices into the pool's rows. Without a pool its share goes to the resident nodes.
    """

    count: int
    chunks: int
    degree_fraction: float
    pool_fraction: float
    run_seed: int

    def sample(self, edges: EdgeBatch, resident: Resident) -> SampledBatch:
        place = (edges.epoch, edges.step, edges.index)
        generator = generator_for(self.run_seed, "negatives", *place)
        from_batch = round(self.count * self.degree_fraction)
        from_pool = round(self.count * self.pool_fraction) if len(resident.pool_rows) else 0
        negatives = np.empty((2, self.chunks, self.count), np.int64)
        uniform = slice(from_batch, self.count - from_pool)
        drawn = generator.integers(resident.nodes, size=negatives[:, :, uniform].shape)
        partition, offset = np.divmod(drawn, resident.partition_rows)
        negatives[:, :, uniform] = resident.base_rows[partition] + offset
        if from_batch:
            for side, nodes in enumerate((edges.dst, edges.src)):
                negatives[side, :, :from_batch] = nodes[generator.integers(len(nodes), size=(self.chunks, from_batch))]
        if from_pool:
            picks = generator.integers(len(resident.pool_rows), size=(2, self.chunks, from_pool))
            negatives[:, :, self.count - from_pool:] = resident.pool_rows[picks]
        return SampledBatch(edges, negatives, from_pool, seed_for(self.run_seed, "dropout", *place))
