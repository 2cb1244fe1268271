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


@st.composite
def chunked(draw):
    """The same with several chunks. Some candidates are equal to queries, or to others."""
    chunks, rows, columns, half = (draw(st.integers(1, most)) for most in (6, 9, 12, 8))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10_000)))
    query, candidates, d_scores = (
        torch.randn(chunks, *shape, generator=generator) for shape in [(rows, 2 * half), (columns, 2 * half), (rows, columns)]
    )
    if draw(st.booleans()):
        candidates[:, 0], candidates[:, -1] = query[:, 0], query[:1, -1]
        query[:, 0, half // 2 :] = 0
    return query, candidates, d_scores


def native(kind, query, candidates, d_scores, threads=1):
    scores, d_query = torch.empty_like(d_scores), torch.full_like(query, torch.nan)
    d_candidates = torch.ones_like(candidates)
    distance_scores(kind, query.numpy(), candidates.numpy(), scores.numpy(), threads)
    distance_gradients(kind, query.numpy(), candidates.numpy(), d_scores.numpy(), d_query.numpy(), d_candidates.numpy(), threads)
    return scores, d_query, d_candidates


def by_torch(kind, query, candidates, d_scores, workspace=None):
    """What `native` returns; of several chunks where the tensors are."""
    one, tensors = query.ndim == 2, (query, candidates, d_scores)
    query, candidates, d_scores = (tensor[None] if one else tensor for tensor in tensors)
    similarity, workspace = SIMILARITIES[kind], workspace or (_Doubles() if query.dtype == torch.float64 else Workspace())
    scores = similarity.tile_by_torch(query, candidates, torch.empty_like(d_scores), workspace)
    d_query, d_candidates = torch.full_like(query, torch.nan), torch.ones_like(candidates)
    similarity.tile_backward_by_torch(query, candidates, d_scores, d_query, d_candidates, workspace)
    return [tensor[0] if one else tensor for tensor in (scores, d_query, d_candidates)]


def by_autograd(kind, query, candidates, d_scores):
    """The same of tiles (..., n, m), in float64, from the definitions."""
    query, candidates = (tensor.double().requires_grad_() for tensor in (query, candidates))
    difference = query[..., :, None, :] - candidates[..., None, :, :]
    if kind == "complex_l2":
        norms = difference.unflatten(-1, (2, -1)).square().sum(-2)
        norms = torch.where(norms > 0, norms, 1.0).sqrt().where(norms > 0, 0.0)  # equal numbers have no direction
    else:
        norms = difference.abs()
    scores = -norms.sum(-1)
    scores.backward(d_scores.double())
    return scores.detach(), query.grad, candidates.grad + 1


def assert_near(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours.double(), theirs.double(), rtol=2e-6, atol=2e-6 * max(1.0, float(theirs.abs().max())))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(tiles())
def test_native_tiles_equal_torchs(kind, tile):
    assert_near(native(kind, *tile), by_torch(kind, *(tensor.double() for tensor in tile)))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20, deadline=None)
@given(st.integers(1, 9), st.integers(1, 40), st.integers(1, 15), st.integers(0, 10_000))
def test_gradients_equal_autograd(kind, rows, columns, half, seed):
    generator = torch.Generator().manual_seed(seed)
    tile = [torch.randn(shape, generator=generator) for shape in [(rows, 2 * half), (columns, 2 * half), (rows, columns)]]
    assert_near(native(kind, *tile), by_autograd(kind, *tile))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(chunked(), st.sampled_from([1, 40, 200, 1000, 1 << 23]))
def test_chunks_together_are_as_alone_and_equal_autograd(place, kind, tile, numbers):
    with pytest.MonkeyPatch.context() as patch, place():
        patch.setattr(similarities, "DIFFERENCES", numbers)
        together = by_torch(kind, *tile)
        alone = [by_torch(kind, *of_chunk) for of_chunk in zip(*tile, strict=True)]
    for found, expected in zip(together, zip(*alone, strict=True), strict=True):
        assert torch.equal(found, torch.stack(expected))
    assert_near(together, by_autograd(kind, *tile))


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 9), st.integers(1, 5), st.integers(1, 500))
def test_pieces_are_few_and_bounded(chunks, size, count, dim, numbers):
    query, candidates = torch.empty(chunks, size, dim), torch.empty(chunks, count, dim)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similarities, "DIFFERENCES", numbers)
        pieces = list(similarities._pieces(query, candidates))
    seen = torch.zeros(chunks, size)
    for part in pieces:
        seen[part] += 1
        assert seen[part].numel() == 1 or seen[part].numel() * max(1, count * dim) <= numbers
    assert (seen == 1).all()
    fitting = max(1, numbers // max(1, count * dim))
    assert len(pieces) <= 2 * -(-chunks * size // fitting)


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
    exact, _, _ = by_torch(kind, query.double(), candidates.double(), torch.ones(5, 50).double())
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
        workspace = Workspace()
        assert_near(native(kind, query, candidates, d_scores), by_torch(kind, query, candidates, d_scores, workspace))
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
