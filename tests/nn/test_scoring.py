"""Tiled scoring against autograd over the whole, by the branches for a CPU and for a GPU."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import marius_lite.nn.scoring as scoring
from marius_lite.nn.losses import Logistic, Margin, Softmax
from marius_lite.nn.scoring import SideScoring, usable_ways
from marius_lite.nn.similarities import SIMILARITIES
from marius_lite.nn.workspace import Workspace
from marius_lite.types import Correction, Pairs

DIM = 6


def all_scores(kind, query, candidates):
    """(n, m) from the definitions; candidates (m, dim) or (n, m, dim)."""
    difference = query[:, None] - candidates
    if kind == "inner":
        return (query[:, None] * candidates).sum(-1)
    if kind == "l1":
        return -difference.abs().sum(-1)
    if kind == "l2":
        return -difference.square().sum(-1).sqrt()
    return -torch.complex(*difference.chunk(2, -1)).abs().sum(-1)


def compare(kind, loss, query, positive, negatives, left_out=None, correction=None):
    sides = [scoring.Compared(query, positive, left_out, correction)]
    return scoring.score_in_tiles(SIMILARITIES[kind], loss, sides, negatives, Workspace())


def random(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in shapes]


@pytest.mark.parametrize("kind", SIMILARITIES)
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 13), st.integers(1, 5), st.integers(1, 9), st.sampled_from([1, 30, 100, 1 << 20]))
def test_gradients_equal_autograd(place, kind, seed, edges, chunks, count, budget):
    tensors = random(seed, (edges, DIM), (edges, DIM), (chunks, count, DIM))
    exact = [tensor.double().requires_grad_() for tensor in tensors]
    query, positive, negatives = exact
    chunk_of = torch.arange(edges) // -(-edges // chunks)
    tile = torch.cat([positive[:, None], negatives[chunk_of]], 1)
    expected = (-all_scores(kind, query, tile).log_softmax(1)[:, 0]).sum()
    expected.backward()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CPU_TILE", "DEVICE_TILE"):
            patch.setattr(scoring, name, budget)
        patch.setattr(scoring, "TILE_QUERIES", 1)
        with place():
            grads = compare(kind, Softmax(), *tensors)
    torch.testing.assert_close(grads.loss, expected.detach(), rtol=1e-5, atol=1e-5)
    assert grads.negatives.shape == (chunks, count, DIM)
    for ours, theirs in [(grads.query, query.grad), (grads.positive, positive.grad), (grads.negatives, negatives.grad)]:
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("loss", [Softmax(), Logistic(), Logistic(temperature=0.5), Margin()])
@pytest.mark.parametrize("budget", [1, 1 << 20])
def test_what_is_left_out_is_as_if_it_were_far_away(place, loss, budget, monkeypatch):
    """Against a candidate whose score is -inf by its own numbers: the same loss and gradients, none for the pair left out."""
    for name in ("CPU_TILE", "DEVICE_TILE"):
        monkeypatch.setattr(scoring, name, budget)
    monkeypatch.setattr(scoring, "TILE_QUERIES", 1)
    query, positive, negatives = random(4, (7, DIM), (7, DIM), (2, 5, DIM))
    pairs = Pairs(np.array([0, 2, 2, 5]), np.array([4, 0, 3, 1]))
    with place():
        grads = compare("inner", loss, query, positive, negatives, pairs)
    exact = [tensor.double().requires_grad_() for tensor in (query, positive, negatives)]
    chunk_of = torch.arange(7) // 4
    tile = torch.cat([exact[1][:, None], exact[2][chunk_of]], 1)
    scores = all_scores("inner", exact[0], tile)
    hidden = torch.zeros(7, 6, dtype=torch.bool)
    hidden[pairs.edges, pairs.columns + 1] = True
    expected = definition(loss, scores.masked_fill(hidden, -1e9))
    expected.backward()
    torch.testing.assert_close(grads.loss, expected.detach(), rtol=1e-5, atol=1e-5)
    for ours, theirs in zip((grads.query, grads.positive, grads.negatives), exact, strict=True):
        torch.testing.assert_close(ours.double(), theirs.grad, rtol=1e-4, atol=2e-5)


def definition(loss, scores):
    """The summed loss of (n, 1 + k) scores by torch."""
    positive, negative = scores[:, 0], scores[:, 1:]
    if isinstance(loss, Softmax):
        return -scores.log_softmax(1)[:, 0].sum()
    if isinstance(loss, Margin):
        return (loss.margin + negative - positive[:, None]).clamp_min(0).mean(1).sum()
    weights = (loss.temperature * negative).softmax(1).detach() if loss.temperature else 1 / negative.shape[1]
    return (torch.nn.functional.softplus(-positive) + (weights * torch.nn.functional.softplus(negative)).sum(1)).sum()


@pytest.mark.parametrize("kind", SIMILARITIES)
@pytest.mark.parametrize(("budget", "columns"), [(1, 1), (200, 5), (1 << 20, 100)])
def test_scores_for_ranking(kind, budget, columns, monkeypatch):
    query, candidates = random(1, (9, DIM), (14, DIM))
    monkeypatch.setattr(scoring, "CPU_TILE", budget)
    monkeypatch.setattr(scoring, "TILE_QUERIES", 1)
    monkeypatch.setattr(scoring, "TILE_COLUMNS", columns)
    scores = scoring.scores(SIMILARITIES[kind], query, candidates, Workspace())
    torch.testing.assert_close(scores, all_scores(kind, query, candidates), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", SIMILARITIES)
def test_equal_vectors_give_finite_small_gradients(kind):
    """The norm has no direction at zero; whatever stands in for it must not blow up."""
    (query,) = random(2, (4, DIM))
    same = query.clone()
    grads = compare(kind, Softmax(), query, same, same[None])
    for grad in (grads.query, grads.positive, grads.negatives):
        assert grad.isfinite().all()
        assert grad.abs().max() < 10


def test_memory_is_bounded_by_a_tile(monkeypatch):
    monkeypatch.setattr(scoring, "CPU_TILE", 1 << 12)
    monkeypatch.setattr(scoring, "TILE_QUERIES", 1)
    sizes = []
    tensor = Workspace.tensor

    def recorded(self, name, shape, *rest):
        made = tensor(self, name, shape, *rest)
        sizes.append((name, made.numel()))
        return made

    monkeypatch.setattr(Workspace, "tensor", recorded)
    for kind in SIMILARITIES:
        query, negatives = random(3, (500, DIM), (1, 50, DIM))
        compare(kind, Softmax(), query, query.flip(0), negatives)
    assert max(numel for _, numel in sizes) <= 1 << 12


@pytest.mark.parametrize("budget", [1, 1 << 20])
def test_a_correction_is_taken_from_scores(place, budget, monkeypatch):
    for name in ("CPU_TILE", "DEVICE_TILE"):
        monkeypatch.setattr(scoring, name, budget)
    monkeypatch.setattr(scoring, "TILE_QUERIES", 1)
    query, positive, negatives, answers, others = random(5, (7, DIM), (7, DIM), (2, 5, DIM), (7,), (2, 5))
    taken = Correction(answers.numpy(), others.numpy())
    with place():
        grads = compare("inner", Softmax(), query, positive, negatives, correction=taken)
    exact = [tensor.double().requires_grad_() for tensor in (query, positive, negatives)]
    chunk_of = torch.arange(7) // 4
    scores = all_scores("inner", exact[0], torch.cat([exact[1][:, None], exact[2][chunk_of]], 1))
    expected = definition(Softmax(), scores - torch.cat([answers[:, None], others[chunk_of]], 1))
    expected.backward()
    torch.testing.assert_close(grads.loss, expected.detach(), rtol=1e-5, atol=1e-5)
    for ours, theirs in zip((grads.query, grads.positive, grads.negatives), exact, strict=True):
        torch.testing.assert_close(ours.double(), theirs.grad, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("way", ["torch", *usable_ways(False, Softmax())])
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 13), st.integers(1, 4), st.sampled_from(list(SIMILARITIES)), st.booleans())
def test_sides_compared_together_are_as_compared_alone(place, way, seed, edges, chunks, kind, rich):
    query, positive, negatives, own, others = random(
        seed, (2 * edges, DIM), (2 * edges, DIM), (2 * chunks, 5, DIM), (2 * edges,), (2 * chunks, 5)
    )
    rng = np.random.default_rng(seed)
    sides = []
    for number in range(2):
        mine, chunk = slice(number * edges, (number + 1) * edges), slice(number * chunks, (number + 1) * chunks)
        left_out = Pairs(np.sort(rng.integers(edges, size=3)), rng.integers(5, size=3)) if rich else None
        correction = Correction(own[mine].numpy(), others[chunk].numpy()) if rich else None
        sides.append((scoring.Compared(query[mine], positive[mine], left_out, correction), negatives[chunk]))
    score = SideScoring(SIMILARITIES[kind], Softmax(), Workspace(), way)
    with place():
        together = score([side for side, _ in sides], negatives)
        alone = [score([side], own) for side, own in sides]
    torch.testing.assert_close(together.loss, alone[0].loss + alone[1].loss, rtol=1e-5, atol=1e-6)
    for name in ("query", "positive", "negatives"):
        found, expected = getattr(together, name), torch.cat([getattr(grads, name) for grads in alone])
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
