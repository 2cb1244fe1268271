"""Tiled scoring against autograd over the whole."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import marius_lite.nn.scoring as scoring
from marius_lite.nn.losses import Softmax
from marius_lite.nn.similarities import SIMILARITIES
from marius_lite.nn.workspace import Workspace

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


def random(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in shapes]


@pytest.mark.parametrize("kind", SIMILARITIES)
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 13), st.integers(1, 5), st.integers(1, 9),
       st.sampled_from([1, 100, 1 << 20]))
def test_gradients_equal_autograd(kind, seed, edges, chunks, count, budget):
    tensors = random(seed, (edges, DIM), (edges, DIM), (chunks, count, DIM))
    exact = [tensor.double().requires_grad_() for tensor in tensors]
    query, positive, negatives = exact
    chunk_of = torch.arange(edges) // -(-edges // chunks)
    tile = torch.cat([positive[:, None], negatives[chunk_of]], 1)
    expected = (-all_scores(kind, query, tile).log_softmax(1)[:, 0]).sum()
    expected.backward()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring, "CPU_TILE", budget)
        grads = scoring.score_side(SIMILARITIES[kind], Softmax(), *tensors, Workspace())
    torch.testing.assert_close(grads.loss, expected.detach(), rtol=1e-5, atol=1e-5)
    assert grads.negatives.shape == (chunks, count, DIM)
    for ours, theirs in [(grads.query, query.grad), (grads.positive, positive.grad),
                         (grads.negatives, negatives.grad)]:
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("kind", SIMILARITIES)
@pytest.mark.parametrize(("budget", "columns"), [(1, 1), (200, 5), (1 << 20, 100)])
def test_scores_for_ranking(kind, budget, columns, monkeypatch):
    query, candidates = random(1, (9, DIM), (14, DIM))
    monkeypatch.setattr(scoring, "CPU_TILE", budget)
    monkeypatch.setattr(scoring, "TILE_COLUMNS", columns)
    scores = scoring.scores(SIMILARITIES[kind], query, candidates, Workspace())
    torch.testing.assert_close(scores, all_scores(kind, query, candidates), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", SIMILARITIES)
def test_equal_vectors_give_finite_small_gradients(kind):
    """The norm has no direction at zero; whatever stands in for it must not blow up."""
    query, = random(2, (4, DIM))
    same = query.clone()
    grads = scoring.score_side(SIMILARITIES[kind], Softmax(), query, same, same[None], Workspace())
    for grad in (grads.query, grads.positive, grads.negatives):
        assert grad.isfinite().all()
        assert grad.abs().max() < 10


def test_memory_is_bounded_by_a_tile(monkeypatch):
    monkeypatch.setattr(scoring, "CPU_TILE", 1 << 12)
    sizes = []
    tensor = Workspace.tensor

    def recorded(self, name, shape, *rest):
        made = tensor(self, name, shape, *rest)
        sizes.append((name, made.numel()))
        return made

    monkeypatch.setattr(Workspace, "tensor", recorded)
    for similarity in SIMILARITIES.values():
        query, negatives = random(3, (500, DIM), (1, 50, DIM))
        scoring.score_side(similarity, Softmax(), query, query.flip(0), negatives, Workspace())
    assert max(numel for _, numel in sizes) <= 1 << 12
