"""Softmax among shared negatives by native code: each way of this processor against float64 autograd."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite._native import shared_softmax, shared_softmax_ways
from marius_lite.nn.losses import Logistic, Softmax
from marius_lite.nn.scoring import SideScoring
from marius_lite.nn.shared_softmax import score_side, suits, usable_ways
from marius_lite.nn.similarities import SIMILARITIES
from marius_lite.nn.workspace import Workspace
from marius_lite.types import Correction, Pairs

WAYS = dict(shared_softmax_ways())
each_way = pytest.mark.parametrize("way", WAYS)


def drawn(seed, queries, chunks, count, dim):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in ((queries, dim), (queries, dim), (chunks, count, dim))]


def expected(tensors, pairs=None, correction=None):
    """The loss and the gradients by their definition."""
    exact = [tensor.double().requires_grad_() for tensor in tensors]
    query, positive, negatives = exact
    chunk_of = torch.arange(len(query)) // -(-len(query) // len(negatives))
    own, scores = (query * positive).sum(1), torch.einsum("qd,qcd->qc", query, negatives[chunk_of])
    if correction:
        own = own - torch.from_numpy(correction.answers)
        scores = scores - torch.from_numpy(correction.negatives)[chunk_of]
    if pairs:
        hidden = torch.zeros(scores.shape, dtype=torch.bool)
        hidden[pairs.edges, pairs.columns] = True
        scores = scores.masked_fill(hidden, -torch.inf)
    loss = -torch.cat([own[:, None], scores], 1).log_softmax(1)[:, 0].sum()
    loss.backward()
    return loss.detach(), [tensor.grad for tensor in exact]


def check(way, grads, loss, exact):
    """Relative errors of norms: rounding to bfloat16 leaves 8 bits."""
    bound = 2e-2 if WAYS[way] else 1e-5
    torch.testing.assert_close(grads.loss, loss, rtol=bound, atol=bound * (1 + loss.abs().item()))
    for ours, theirs in zip((grads.query, grads.positive, grads.negatives), exact, strict=True):
        assert ours.shape == theirs.shape
        assert (ours.double() - theirs).norm() <= bound * theirs.norm() + 1e-6


@each_way
@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 600),
    st.integers(1, 5),
    st.integers(1, 300),
    st.integers(1, 70),
    st.booleans(),
    st.booleans(),
    st.integers(1, 4),
)
def test_gradients_are_those_of_autograd(way, seed, queries, chunks, count, dim, hides, corrects, threads):
    tensors = drawn(seed, queries, chunks, count, dim)
    tensors[0] *= dim**-0.5
    random = np.random.default_rng(seed)
    edges = np.sort(random.integers(queries, size=2 * queries)) if hides else None
    pairs = Pairs(edges, random.integers(count, size=2 * queries)) if hides else None
    sizes = (queries,), (chunks, count)
    correction = Correction(*(random.standard_normal(size).astype(np.float32) for size in sizes)) if corrects else None
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        grads, again = (score_side(way, *tensors, pairs, correction) for _ in range(2))
    finally:
        torch.set_num_threads(before)
    check(way, grads, *expected(tensors, pairs, correction))
    for name in ("loss", "query", "positive", "negatives"):
        assert torch.equal(getattr(grads, name), getattr(again, name))


@each_way
@pytest.mark.parametrize(("queries", "chunks", "count", "dim"), [(700, 1, 5000, 40), (33, 2, 1100, 300), (1500, 1, 237, 128)])
def test_many_candidates_or_numbers(way, queries, chunks, count, dim):
    """Several blocks of candidates, groups of queries and slices for threads."""
    tensors = drawn(1, queries, chunks, count, dim)
    tensors[0] *= 0.3
    check(way, score_side(way, *tensors), *expected(tensors))


@each_way
def test_no_queries_or_chunks_without_any(way):
    tensors = drawn(2, 0, 2, 7, 5)
    grads = score_side(way, *tensors)
    assert grads.loss == 0
    assert not grads.negatives.any()
    tensors = drawn(3, 3, 5, 7, 5)  # the last two chunks have no query
    grads = score_side(way, *tensors)
    assert not grads.negatives[3:].any()
    assert grads.negatives[:3].any(2).all()


@each_way
def test_everything_hidden_leaves_the_positive(way):
    query, positive, negatives = drawn(4, 3, 1, 4, 8)
    pairs = Pairs(np.repeat(np.arange(3), 4), np.tile(np.arange(4), 3))
    grads = score_side(way, query, positive, negatives, pairs)
    assert grads.loss == 0
    for grad in (grads.query, grads.positive, grads.negatives):
        assert not grad.any()


@each_way
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_is_no_number_makes_a_loss_that_is_none(way, number):
    query, positive, negatives = drawn(5, 40, 1, 50, 8)
    query[3, 2] = number
    assert not score_side(way, query, positive, negatives).loss.isfinite()


@each_way
def test_large_scores_do_not_overflow(way):
    query, positive, negatives = (tensor * 30 for tensor in drawn(6, 40, 1, 50, 16))
    grads = score_side(way, query, positive, negatives)
    assert grads.loss.isfinite()
    for grad in (grads.query, grads.positive, grads.negatives):
        assert grad.isfinite().all()


def test_it_is_for_inner_products_and_softmax():
    assert suits(SIMILARITIES["inner"], Softmax())
    assert not suits(SIMILARITIES["inner"], Logistic())
    assert not suits(SIMILARITIES["l2"], Softmax())
    assert sorted([*usable_ways(True), *usable_ways(False)]) == sorted(WAYS)
    assert usable_ways(False)  # every processor has one


@each_way
def test_scoring_takes_the_way_where_it_suits(way):
    tensors = drawn(7, 30, 1, 40, 8)
    native = SideScoring(SIMILARITIES["inner"], Softmax(), Workspace(), way)(*tensors)
    assert torch.equal(native.query, score_side(way, *tensors).query)
    tiled = SideScoring(SIMILARITIES["inner"], Logistic(), Workspace(), way)(*tensors)
    assert torch.equal(tiled.query, SideScoring(SIMILARITIES["inner"], Logistic(), Workspace())(*tensors).query)


@each_way
def test_what_does_not_fit_is_refused(way):
    rows, candidates, row = np.zeros((3, 4), np.float32), np.zeros((1, 5, 4), np.float32), np.zeros(3, np.float32)

    def call(name=way, queries=(0, 1), columns=(0, 1), candidates=candidates, corrections=None):
        hidden = [np.array(each, np.int64) for each in (queries, columns)]
        out = row.copy(), rows.copy(), rows.copy(), candidates.copy()
        shared_softmax(name, rows, rows, candidates, *hidden, corrections, *out)

    call()
    with pytest.raises(ValueError, match="ordered by query"):
        call(queries=(1, 0))
    with pytest.raises(ValueError, match="that are there"):
        call(columns=(0, 5))
    with pytest.raises(ValueError, match="that are there"):
        call(queries=(0, 3))
    with pytest.raises(ValueError, match="a query and a candidate"):
        call(queries=(0,))
    with pytest.raises(ValueError, match="as many columns"):
        call(candidates=np.zeros((1, 5, 3), np.float32))
    with pytest.raises(ValueError, match="one for each query"):
        call(corrections=(row[:2], candidates[..., 0]))
    with pytest.raises(ValueError, match="has no way"):
        call(name="abacus")
