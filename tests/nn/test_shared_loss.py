"""Losses among shared negatives by native code: each way of this processor against float64 autograd."""

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch.nn.functional import softplus

from marius_lite._native import shared_loss as native_loss
from marius_lite._native import shared_loss_ways
from marius_lite.nn import scoring
from marius_lite.nn.losses import Logistic, Margin, Softmax
from marius_lite.nn.scoring import Compared, SideScoring, suits, usable_ways
from marius_lite.nn.similarities import SIMILARITIES
from marius_lite.nn.workspace import Workspace
from marius_lite.types import ClassCorrection, Correction, Pairs

WAYS = dict(shared_loss_ways())
each_way = pytest.mark.parametrize("way", WAYS)
SOFTMAX = Softmax()
LOSSES = st.one_of(
    st.just(SOFTMAX), st.builds(Logistic, st.sampled_from([0.0, 1.5, -2.0])), st.builds(Margin, st.sampled_from([0.0, 1.0, 3.0]))
)


def score_side(way, loss, query, positive, negatives, left_out=None, correction=None):
    """What `SideScoring` gives for one side, by native code where the way is not torch."""
    assert way == "torch" or suits(way, SIMILARITIES["inner"], loss)
    scoring = SideScoring(SIMILARITIES["inner"], loss, Workspace(), way)
    return scoring([Compared(query, positive, left_out, correction)], negatives)


def drawn(seed, queries, chunks, count, dim):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in ((queries, dim), (queries, dim), (chunks, count, dim))]


def on_a_grid(tensors):
    """Round to numbers whose products are exact in every way, so that no score is on the other side of the margin."""
    return [(tensor * 4).round() / 4 for tensor in tensors]


def expected(tensors, pairs=None, correction=None, loss=SOFTMAX):
    """The loss, and the gradients by their definition, each with the size that it would have if nothing in it cancelled out."""
    exact = [tensor.double().requires_grad_() for tensor in tensors]
    query, positive, negatives = exact
    each = -(-len(query) // len(negatives))
    chunk_of = torch.arange(len(query)) // each
    parts = [slice(chunk * each, (chunk + 1) * each) for chunk in range(len(negatives))]
    scored = [query[part] @ candidates.T for part, candidates in zip(parts, negatives)]
    products = (query * positive).sum(1), torch.cat(scored)
    own, scores = products
    for product in products:
        product.retain_grad()
    if correction:
        own = own - torch.from_numpy(correction.answers)
        scores = scores - torch.from_numpy(correction.negatives)[chunk_of]
        by_class = correction.by_class
        scores = scores - torch.from_numpy(by_class.taken[by_class.classes[chunk_of], np.arange(len(query))[:, None]])
    if pairs:
        hidden = torch.zeros(scores.shape, dtype=torch.bool)
        hidden[pairs.edges, pairs.columns] = True
        scores = scores.masked_fill(hidden, -torch.inf)
    if isinstance(loss, Softmax):
        total = -torch.cat([own[:, None], scores], 1).log_softmax(1)[:, 0].sum()
    elif isinstance(loss, Logistic):
        total = (softplus(-(loss.margin + own)) + softplus(loss.margin + scores).mean(1)).sum()
    else:
        total = torch.relu(loss.margin + scores - own[:, None]).mean(1).sum()
    total.backward()
    g_own, g_scores = (product.grad.abs() for product in products)
    q, p, n = (tensor.detach().abs() for tensor in exact)
    of_queries = torch.cat([g_scores[part] @ candidates for part, candidates in zip(parts, n)])
    of_negatives = torch.stack([g_scores[part].T @ q[part] for part in parts])
    sizes = g_own[:, None] * p + of_queries, g_own[:, None] * q, of_negatives
    return total.detach(), [(tensor.grad, size) for tensor, size in zip(exact, sizes, strict=True)]


def check(way, grads, loss, exact):
    """Errors relative to sums without cancellation: rounding to bfloat16 leaves 8 bits."""
    bound = 2e-2 if WAYS[way] else 1e-5
    torch.testing.assert_close(grads.loss, loss, rtol=bound, atol=bound * (1 + loss.abs().item()))
    for ours, (theirs, size) in zip((grads.query, grads.positive, grads.negatives), exact, strict=True):
        assert ours.shape == theirs.shape
        assert (ours.double() - theirs).norm() <= bound * size.norm() + 1e-6


@each_way
@example(Margin(), 2078, 415, 4, 244, 19, True, True, 1)  # a score that the margin's edge would part from its exact one
@settings(max_examples=60, deadline=None)
@given(
    LOSSES,
    st.integers(0, 10_000),
    st.integers(1, 600),
    st.integers(1, 5),
    st.integers(1, 300),
    st.integers(1, 70),
    st.booleans(),
    st.booleans(),
    st.integers(1, 4),
)
def test_gradients_are_those_of_autograd(way, loss, seed, queries, chunks, count, dim, hides, corrects, threads):
    tensors = drawn(seed, queries, chunks, count, dim)
    tensors[0] *= dim**-0.5
    if isinstance(loss, Margin):
        tensors = on_a_grid(tensors)
    random = np.random.default_rng(seed)
    edges = np.sort(random.integers(queries, size=2 * queries)) if hides else None
    pairs = Pairs(edges, random.integers(count, size=2 * queries)) if hides else None
    taken = [random.standard_normal(size).astype(np.float32) for size in ((queries,), (chunks, count), (3, queries))]
    if isinstance(loss, Margin):
        taken = [(each * 4).round() / 4 for each in taken]
    by_class = ClassCorrection(random.integers(3, size=(chunks, count)), taken[2])
    correction = Correction(*taken[:2], by_class) if corrects else None
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        grads, again = (score_side(way, loss, *tensors, pairs, correction) for _ in range(2))
    finally:
        torch.set_num_threads(before)
    check(way, grads, *expected(tensors, pairs, correction, loss))
    for name in ("loss", "query", "positive", "negatives"):
        assert torch.equal(getattr(grads, name), getattr(again, name))


@each_way
@pytest.mark.parametrize(("queries", "chunks", "count", "dim"), [(700, 1, 5000, 40), (33, 2, 1100, 300), (1500, 1, 237, 128)])
def test_many_candidates_or_numbers(way, queries, chunks, count, dim):
    """Several blocks of candidates, groups of queries and slices for threads."""
    tensors = drawn(1, queries, chunks, count, dim)
    tensors[0] *= 0.3
    check(way, score_side(way, SOFTMAX, *tensors), *expected(tensors))


@each_way
def test_no_queries_or_chunks_without_any(way):
    tensors = drawn(2, 0, 2, 7, 5)
    grads = score_side(way, SOFTMAX, *tensors)
    assert grads.loss == 0
    assert not grads.negatives.any()
    tensors = drawn(3, 3, 5, 7, 5)  # the last two chunks have no query
    grads = score_side(way, SOFTMAX, *tensors)
    assert not grads.negatives[3:].any()
    assert grads.negatives[:3].any(2).all()


@each_way
def test_everything_hidden_leaves_the_positive(way):
    query, positive, negatives = drawn(4, 3, 1, 4, 8)
    pairs = Pairs(np.repeat(np.arange(3), 4), np.tile(np.arange(4), 3))
    grads = score_side(way, SOFTMAX, query, positive, negatives, pairs)
    assert grads.loss == 0
    for grad in (grads.query, grads.positive, grads.negatives):
        assert not grad.any()


@each_way
@pytest.mark.parametrize("loss", [SOFTMAX, Logistic(), Margin()], ids=lambda loss: type(loss).__name__)
def test_what_is_no_number_makes_a_loss_that_is_none(way, loss):
    for place in range(3):
        tensors = drawn(5, 40, 1, 50, 8)
        tensors[place][..., 3, 2] = float("nan")
        assert not score_side(way, loss, *tensors).loss.isfinite()
    query, positive, negatives = drawn(5, 40, 1, 50, 8)
    query[3, 2] = float("inf")
    assert not score_side(way, SOFTMAX, query, positive, negatives).loss.isfinite()


@each_way
@pytest.mark.parametrize("loss", [Logistic(), Logistic(2.0), Margin()], ids=str)
def test_other_losses_are_those_of_torch(way, loss):
    tensors = drawn(8, 300, 3, 700, 24)
    tensors[0] *= 0.3
    if isinstance(loss, Margin):
        tensors = on_a_grid(tensors)
    ours = score_side(way, loss, *tensors)
    theirs = score_side("torch", loss, *tensors)
    check(way, ours, theirs.loss, [(grad.double(), grad) for grad in (theirs.query, theirs.positive, theirs.negatives)])


@each_way
@pytest.mark.parametrize(("chunks", "threads"), [(1, 2), (3, 2), (4, 3)])
def test_sides_have_the_bits_of_each_alone(way, chunks, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        sides = [drawn(seed, 90, chunks, 310, 20) for seed in (8, 9)]
        pairs = Pairs(np.arange(90), np.arange(90) * 3)
        alone = [score_side(way, SOFTMAX, *side, pairs if number else None) for number, side in enumerate(sides)]
        compared = [Compared(*side[:2], pairs if number else None) for number, side in enumerate(sides)]
        both = SideScoring(SIMILARITIES["inner"], SOFTMAX, Workspace(), way)(compared, torch.cat([side[2] for side in sides]))
    finally:
        torch.set_num_threads(before)
    assert both.loss == sum(each.loss for each in alone)
    for name in ("query", "positive", "negatives"):
        assert torch.equal(getattr(both, name), torch.cat([getattr(each, name) for each in alone]))


@each_way
def test_large_scores_do_not_overflow(way):
    query, positive, negatives = (tensor * 30 for tensor in drawn(6, 40, 1, 50, 16))
    grads = score_side(way, SOFTMAX, query, positive, negatives)
    assert grads.loss.isfinite()
    for grad in (grads.query, grads.positive, grads.negatives):
        assert grad.isfinite().all()


def test_it_is_for_inner_products_and_losses_that_are_there():
    way = next(iter(WAYS))
    assert suits(way, SIMILARITIES["inner"], SOFTMAX)
    assert suits(way, SIMILARITIES["inner"], Logistic())
    assert not suits(way, SIMILARITIES["inner"], Logistic(temperature=1.0))
    assert not suits(way, SIMILARITIES["l2"], SOFTMAX)
    assert not suits("torch", SIMILARITIES["inner"], SOFTMAX)
    for loss in (SOFTMAX, Margin()):
        assert sorted([*usable_ways(True, loss), *usable_ways(False, loss)]) == sorted(WAYS)
    assert usable_ways(False, SOFTMAX)  # every processor has one


@each_way
def test_tiles_are_for_what_the_way_has_not(way, monkeypatch):
    tensors, sides = drawn(7, 30, 1, 40, 8), []
    in_tiles = scoring.score_in_tiles
    monkeypatch.setattr(scoring, "score_in_tiles", lambda *given: sides.append(given[2]) or in_tiles(*given))
    side, weighted = Compared(*tensors[:2]), Logistic(temperature=1.0)
    SideScoring(SIMILARITIES["inner"], SOFTMAX, Workspace(), way)([side], tensors[2])
    assert sides == []
    tiled = SideScoring(SIMILARITIES["inner"], weighted, Workspace(), way)([side], tensors[2])
    assert sides == [[side]]
    assert torch.equal(tiled.query, score_side("torch", weighted, *tensors).query)


@each_way
def test_what_does_not_fit_is_refused(way):
    rows, candidates, row = np.zeros((3, 4), np.float32), np.zeros((1, 5, 4), np.float32), np.zeros(3, np.float32)

    def side(queries=(0, 1), columns=(0, 1), candidates=candidates, corrections=None, rows=rows):
        hidden = [np.array(each, np.int64) for each in (queries, columns)]
        out = row[: len(rows)].copy(), rows.copy(), rows.copy(), candidates.copy()
        return rows, rows, candidates, *hidden, corrections, *out

    def call(name=way, loss="softmax", **given):
        native_loss(name, loss, 0.0, [side(), side(**given)])

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
        call(corrections=(row[:2], np.zeros((1, 5), np.float32), None))
    classes, taken = np.zeros((1, 5), np.int64), np.zeros((2, 3), np.float32)
    call(corrections=(row, None, (classes, taken)))
    with pytest.raises(ValueError, match="a class for each candidate"):
        call(corrections=(row, None, (classes[:, :4], taken)))
    with pytest.raises(ValueError, match="among those"):
        call(corrections=(row, None, (classes + 2, taken)))
    with pytest.raises(ValueError, match="must have the same shape"):
        call(rows=rows[:2])
    with pytest.raises(TypeError):
        call(rows=rows.astype(np.float64))  # a copy would take the gradients
    with pytest.raises(ValueError, match="has no way"):
        call(name="abacus")
    with pytest.raises(ValueError, match="no loss"):
        call(loss="regret")
