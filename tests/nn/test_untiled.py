"""Softmax without tiles of scores against the same with tiles in float32."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite._native import shared_softmax, shared_softmax_usable
from marius_lite.nn import scoring, untiled
from marius_lite.nn.losses import Logistic, Softmax
from marius_lite.nn.precision import products_in
from marius_lite.nn.similarities import SIMILARITIES
from marius_lite.nn.workspace import Workspace
from marius_lite.types import Pairs

INNER = SIMILARITIES["inner"]
needs_amx = pytest.mark.skipif(not shared_softmax_usable(), reason="this processor has no AMX")


def drawn(seed, edges, chunks, count, dim):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in ((edges, dim), (edges, dim), (chunks, count, dim))]


def close(ours, theirs):
    """Inputs and shares are rounded to 8 bits each."""
    return (ours - theirs).norm() <= 2e-2 * theirs.norm() + 1e-6


@needs_amx
@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 70),
    st.integers(1, 5),
    st.integers(1, 300),
    st.integers(1, 70),
    st.booleans(),
    st.sampled_from([1, 32, 1024]),
)
def test_gradients_are_those_of_tiles(seed, edges, chunks, count, dim, hides, queries):
    tensors = drawn(seed, edges, chunks, count, dim)
    pairs = Pairs(np.arange(edges), np.random.default_rng(seed).integers(count, size=edges)) if hides else None
    theirs = scoring.score_in_tiles(INNER, Softmax(), *tensors, Workspace(), pairs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(untiled, "UNTILED_QUERIES", queries)
        ours = untiled.score_side(INNER, *tensors, pairs)
    torch.testing.assert_close(ours.loss, theirs.loss, rtol=1e-2, atol=1e-2 * edges)
    scale = tensors[1].norm() + tensors[2].norm()
    assert (ours.query - theirs.query).norm() <= 2e-2 * (theirs.query.norm() + scale)
    assert (ours.negatives - theirs.negatives).norm() <= 2e-2 * (theirs.negatives.norm() + tensors[0].norm())
    assert ours.negatives.shape == (chunks, count, dim)


@needs_amx
def test_mixed_precision_takes_it():
    tensors = drawn(0, 300, 1, 700, 64)
    tensors[0] *= 0.1
    exact = scoring.score_side(INNER, Softmax(), *tensors, Workspace())
    with products_in("mixed"):
        assert untiled.suits(INNER, Softmax(), tensors[0])
        assert not untiled.suits(INNER, Logistic(), tensors[0])
        assert not untiled.suits(SIMILARITIES["l2"], Softmax(), tensors[0])
        first, second = (scoring.score_side(INNER, Softmax(), *tensors, Workspace()) for _ in range(2))
    assert not untiled.suits(INNER, Softmax(), tensors[0])
    for name in ("loss", "query", "positive", "negatives"):
        assert torch.equal(getattr(first, name), getattr(second, name))
        assert close(getattr(first, name), getattr(exact, name))


@needs_amx
def test_what_does_not_fit_is_refused():
    query, candidates = np.zeros((3, 4), np.float32), np.zeros((5, 4), np.float32)
    row, pairs = np.zeros(3, np.float32), np.array([2, 1])

    def call(hidden_queries=pairs, hidden_candidates=pairs, candidates=candidates):
        shared_softmax(
            query,
            candidates,
            row,
            hidden_queries,
            hidden_candidates,
            row.copy(),
            row.copy(),
            query.copy(),
            candidates.copy(),
            False,
        )

    with pytest.raises(ValueError, match="ordered by candidate"):
        call()
    with pytest.raises(ValueError, match="that are there"):
        call(np.array([3, 1]), np.array([0, 1]))
    with pytest.raises(ValueError, match="as many columns"):
        call(candidates=np.zeros((5, 3), np.float32))
