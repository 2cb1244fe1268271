"""Positions and offsets of candidates are inverse to each other, in every partition."""

import numpy as np
import pytest

from marius_lite.evaluate.candidates import Candidates
from marius_lite.graph.partitioning import Partitioning


@pytest.mark.parametrize("p", [1, 3, 10, 53])
@pytest.mark.parametrize("count", [None, 0, 1, 20, 52, 53, 99])
def test_positions_find_the_offsets(p, count):
    partitioning = Partitioning(53, p)
    candidates = Candidates(partitioning, count, seed=4)
    total = 0
    for k in range(partitioning.partitions):
        everyone = np.arange(partitioning.size(k))
        offsets = everyone[candidates.offsets(k, 0, candidates.count(k))]
        assert len(offsets) == candidates.count(k)
        np.testing.assert_array_equal(candidates.positions(k, offsets), np.arange(len(offsets)))
        others = np.setdiff1d(everyone, offsets)
        assert (candidates.positions(k, others) == -1).all()
        assert candidates.first_id(k) == partitioning.range(k).start
        total += len(offsets)
    assert total == (53 if count is None else min(count, 53))
    assert candidates.label == ("all" if count is None or count >= 53 else f"sampled({count})")


def test_the_sample_does_not_depend_on_the_partitions():
    def chosen(p, seed=0):
        drawn = Candidates(Partitioning(100, p), 30, seed)
        return [i for k in range(p) for i in drawn.first_id(k) + drawn.offsets(k, 0, drawn.count(k))]

    assert chosen(1) == chosen(7) == chosen(50)
    assert chosen(1) != chosen(1, seed=1)
