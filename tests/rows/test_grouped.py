"""Sums by group: those of the definition, the same bits however the groups' rows are spread, whatever the pieces."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import marius_lite.rows.batch as batch
from marius_lite.rows.batch import Grouped
from marius_lite.rows.host import OnHost


def summed(groups, count, rows):
    made = Grouped.of(groups, count)
    return made, made.sum(OnHost([], made.arrays), rows)


@given(st.integers(0, 10_000), st.integers(0, 300), st.integers(1, 9), st.sampled_from([1, 2, 7, 256]), st.booleans())
def test_sums_are_those_of_the_definition(seed, rows, count, piece, one):
    rng = np.random.default_rng(seed)
    groups = np.full(rows, count - 1) if one else rng.integers(count, size=rows)
    values = torch.from_numpy(rng.integers(-9, 9, (rows, 3)).astype(np.float32))  # whole numbers: sums are exact
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "PIECE", piece)
        made, found = summed(groups, count, values)
    assert torch.equal(found, torch.zeros(count, 3).index_add_(0, torch.from_numpy(groups), values))
    sizes = np.bincount(groups, minlength=count)
    assert made.pieces == (0 if sizes.max(initial=0) <= piece else min(count, len(groups)) + len(groups) // piece)
    assert made.pieces == 0 or made.pieces >= sum(-(-sizes // piece))
    assert all(array.dtype == np.int32 for array in made.arrays.values())


def test_no_piece_is_longer_than_it_may_be():
    """One relation and many edges: as many sums side by side as there are pieces."""
    made = Grouped.of(np.zeros(50_000, np.int64), 3)
    lengths = np.diff(made.arrays[batch.PIECES])
    assert lengths.max() == batch.PIECE
    assert lengths.sum() == 50_000
    assert len(lengths) == made.pieces == 3 + 50_000 // batch.PIECE  # as many as three groups may need
    assert made.arrays[batch.GROUPS].tolist() == [0, 196, 196, 196]


def test_the_order_of_sums_is_that_of_the_rows():
    values = torch.randn(1000, 4, generator=torch.Generator().manual_seed(0))
    expected = torch.zeros(4)
    for start in range(0, 1000, batch.PIECE):
        piece = torch.zeros(4)
        for row in values[start : start + batch.PIECE]:
            piece += row
        expected += piece
    _, found = summed(np.zeros(1000, np.int64), 1, values)
    assert torch.equal(found[0], expected)
