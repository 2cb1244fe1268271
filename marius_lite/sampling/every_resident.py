"""Take every resident node as a negative of every edge: 1vsAll (Lacroix et al., ICML 2018) among the nodes in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marius_lite.sampling.known import known_among, with_selves
from marius_lite.sampling.negatives import ResidentNodes
from marius_lite.seeds import seed_for
from marius_lite.types import EdgeBatch, Pairs, SampledBatch, both_sides, one_after_another


@dataclass(frozen=True, slots=True)
class EveryResident:
    """One set of negatives (1, 1, resident nodes) for both sides. An edge's own answer is no negative of its own."""

    run_seed: int
    mask_known: bool = False
    mask_self: bool = False

    def sample(self, edges: EdgeBatch, resident: ResidentNodes) -> SampledBatch:
        rows = resident.rows()
        each = np.arange(edges.size)
        negatives = rows.reshape(1, 1, -1)
        left_out = (
            known_among(edges, negatives)
            if self.mask_known
            else tuple(Pairs(each, resident.places(answers)) for answers in (edges.dst, edges.src))
        )
        if self.mask_self:
            left_out = with_selves(left_out, edges, negatives)
        seed = seed_for(self.run_seed, "dropout", edges.epoch, edges.step, edges.index)
        corrections = resident.corrections(edges, negatives)
        return SampledBatch(
            edges,
            negatives,
            seed,
            True,
            (one_after_another(left_out, edges.size),),
            (both_sides(corrections),) if corrections else (),
        )
