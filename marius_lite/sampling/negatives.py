"""Shared negatives of a batch: from its own nodes, and from all resident nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marius_lite.seeds import generator_for, seed_for
from marius_lite.types import EdgeBatch, SampledBatch


@dataclass(frozen=True, slots=True)
class Resident:
    """Where uniform draws land: ``nodes`` nodes in ``partitions`` of ``partition_rows`` each (the last may be short),
    ``base_rows`` the partitions' first buffer rows."""

    partitions: tuple[int, ...]
    nodes: int
    partition_rows: int
    base_rows: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NegativeSampler:
    """Draws (sides, chunks, count) negatives; each chunk is ordered [batch's nodes | resident]."""

    count: int
    chunks: int
    degree_fraction: float
    run_seed: int

    def sample(self, edges: EdgeBatch, resident: Resident) -> SampledBatch:
        place = (edges.epoch, edges.step, edges.index)
        generator = generator_for(self.run_seed, "negatives", *place)
        from_batch = round(self.count * self.degree_fraction)
        negatives = np.empty((2, self.chunks, self.count), np.int64)
        drawn = generator.integers(resident.nodes, size=(2, self.chunks, self.count - from_batch))
        partition, offset = np.divmod(drawn, resident.partition_rows)
        negatives[:, :, from_batch:] = resident.base_rows[partition] + offset
        if from_batch:
            for side, nodes in enumerate((edges.dst, edges.src)):
                negatives[side, :, :from_batch] = nodes[generator.integers(len(nodes), size=(self.chunks, from_batch))]
        return SampledBatch(edges, negatives, seed_for(self.run_seed, "dropout", *place))
