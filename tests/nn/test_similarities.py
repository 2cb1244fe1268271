"""Tiles of distances: the native kernels against torch's arrays of differences, autograd, and their own bits."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import marius_lite.nn.similarities as similarities
from marius_lite._native import distance_gradients, distance_scores
from marius_lite.nn.similarities import SIMILARITIES
from marius_lite.nn.workspace import Workspace

KINDS = ["l1", "complex_l2"]


@st.composite
def tiles(draw):
    """(query, candidates, d_scores): shapes around the kernels' blocks, some rows equal, some numbers zero."""
    rows, columns = draw(st.integers(1, 20)), draw(st.sampled_from([1, 2, 7, 16, 31, 33, 65, 1023, 1030]))
    dim, seed = 2 * draw(st.integers(1, 20)), draw(st.integers(0, 10_000))
    generator = torch.Generator().manual_seed(seed)
    query, candidates = (torch.randn(n, dim, generator=generator) for n in (rows, columns))
    for values in (query, candidates):
        values[torch.rand(values.shape, generator=generator) < 0.2] = 0
    candidates[torch.randint(columns, (3,), generator=generator)] = query[torch.randint(rows, (3,), generator=generator)]
    return query, candidates, torch.randn(rows, columns, generator=generator)


def native(kind, query, candidates, d_scores, threads=1):
    scores, d_query = torch.empty_like(d_scores), torch.full_like(query, torch.nan)
    d_candidates = torch.ones_like(candidates)
    distance_scores(kind, query.numpy(), candidates.numpy(), scores.numpy(), threads)
    distance_gradients(kind, query.numpy(), candidates.numpy(), d_scores.numpy(), d_query.numpy(), d_candidates.numpy(), threads)
    return scores, d_query, d_candidates


def assert_near(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours.double(), theirs.double(), rtol=2e-6, atol=2e-6 * max(1.0, float(theirs.abs().max())))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(tiles())
def test_native_tiles_equal_torchs(kind, tile):
    query, candidates, d_scores = (tensor.double() for tensor in tile)
    similarity, workspace = SIMILARITIES[kind], _Doubles()
    scores, d_query, d_candidates = torch.empty_like(d_scores), torch.empty_like(query), torch.ones_like(candidates)
    scores = similarity.tile_by_torch(query, candidates, scores, workspace)
    similarity.tile_backward_by_torch(query, candidates, d_scores, d_query, d_candidates, workspace)
    assert_near(native(kind, *tile), (scores, d_query, d_candidates))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20, deadline=None)
@given(st.integers(1, 9), st.integers(1, 40), st.integers(1, 15), st.integers(0, 10_000))
def test_gradients_equal_autograd(kind, rows, columns, half, seed):
    generator = torch.Generator().manual_seed(seed)
    tile = [torch.randn(shape, generator=generator) for shape in [(rows, 2 * half), (columns, 2 * half), (rows, columns)]]
    query, candidates, d_scores = (tensor.double() for tensor in tile)
    query.requires_grad_()
    candidates.requires_grad_()
    difference = query[:, None] - candidates
    norms = torch.complex(*difference.chunk(2, -1)).abs() if kind == "complex_l2" else difference.abs()
    scores = -norms.sum(-1)
    scores.backward(d_scores)
    assert_near(native(kind, *tile), (scores.detach(), query.grad, candidates.grad + 1))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15, deadline=None)
@given(tiles(), st.integers(2, 9))
def test_threads_and_place_change_no_bit(kind, tile, threads):
    query, candidates, d_scores = tile
    first = native(kind, query, candidates, d_scores)
    for ours, theirs in zip(first, native(kind, query, candidates, d_scores, threads), strict=True):
        assert torch.equal(ours, theirs)
    half = len(candidates) // 2
    if half:  # the score of a pair is the same in another tile, elsewhere
        scores, _, _ = native(kind, query[-1:], candidates[half:].clone(), d_scores[-1:, half:].clone(), threads)
        assert torch.equal(scores, first[0][-1:, half:])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1.0, 1e12])
def test_rounding_is_float32s_at_any_scale(kind, scale):
    generator = torch.Generator().manual_seed(1)
    query, candidates = (torch.randn(n, 600, generator=generator) * scale for n in (5, 50))
    scores, d_query, d_candidates = native(kind, query, candidates, torch.ones(5, 50))
    exact = SIMILARITIES[kind].tile_by_torch(query.double(), candidates.double(), torch.empty(5, 50).double(), _Doubles())
    if kind == "l1" or scale > 1e-19:  # squares of smaller numbers are none
        assert float((scores / exact - 1).abs().max()) < 1e-6
    assert d_query.isfinite().all()
    assert float(d_query.abs().max()) <= 50 * (1 + 1e-6)  # no direction is longer than 1
    assert float((d_candidates - 1).abs().max()) <= 5 * (1 + 1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_rows_have_no_direction(kind):
    query = torch.randn(6, 10)
    scores, d_query, d_candidates = native(kind, query, query[:1].repeat(40, 1), torch.ones(6, 40))
    assert (scores[0].abs() < 1e-15).all()
    assert not d_query[0].any()
    assert (d_candidates == d_candidates[0]).all()


def test_no_candidates_give_no_gradient():
    query, none = torch.randn(3, 4), torch.empty(0, 4)
    for kind in KINDS:
        assert not native(kind, query, none, torch.empty(3, 0))[1].any()


def test_torchs_differences_come_in_bounded_pieces(monkeypatch):
    monkeypatch.setattr(similarities, "DIFFERENCES", 200)
    query, candidates, d_scores = torch.randn(7, 6), torch.randn(9, 6), torch.randn(7, 9)
    for kind in KINDS:
        workspace, similarity = Workspace(), SIMILARITIES[kind]
        scores, d_query, d_candidates = torch.empty(7, 9), torch.empty(7, 6), torch.ones(9, 6)
        scores = similarity.tile_by_torch(query, candidates, scores, workspace)
        similarity.tile_backward_by_torch(query, candidates, d_scores, d_query, d_candidates, workspace)
        assert_near(native(kind, query, candidates, d_scores), (scores, d_query, d_candidates))
        assert workspace._buffers["differences"].numel() <= 200


def test_misfits_are_refused():
    a, b = torch.ones(2, 3).numpy(), torch.ones(4, 3).numpy()
    with pytest.raises(ValueError, match="an even dim, found 3"):
        distance_scores("complex_l2", a, b, torch.ones(2, 4).numpy())
    with pytest.raises(ValueError, match="a row for each query"):
        distance_scores("l1", a, b, torch.ones(4, 2).numpy())
    with pytest.raises(ValueError, match="as many columns"):
        distance_scores("l1", a, torch.ones(4, 2).numpy(), torch.ones(2, 4).numpy())
    with pytest.raises(ValueError, match="shapes of queries and candidates"):
        distance_gradients("l1", a, b, torch.ones(2, 4).numpy(), a, a)
    with pytest.raises(ValueError, match='found "l2"'):
        distance_scores("l2", a, b, torch.ones(2, 4).numpy())


class _Doubles(Workspace):
    def tensor(self, name, shape, device, dtype=torch.float64):
        return super().tensor(name, shape, device, dtype)
