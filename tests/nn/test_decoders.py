"""A decoder's two queries agree, and its first values suit it."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.errors import UserError
from marius_lite.nn.decoders import DECODERS, Draw, EdgeContext, make_decoder
from marius_lite.nn.decoders.complex import complex_product
from marius_lite.nn.similarities import SIMILARITIES


@pytest.mark.parametrize("name", DECODERS)
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 8))
def test_both_sides_give_the_edges_score(name, seed, half):
    rng, decoder, dim = np.random.default_rng(seed), make_decoder(name, 2 * half), 2 * half
    src, dst = (torch.from_numpy(rng.standard_normal((7, dim), np.float32)) for _ in range(2))
    rel = torch.from_numpy(rng.standard_normal((7, decoder.relation_dim(dim)), np.float32))
    similarity = SIMILARITIES[decoder.similarity]
    context = EdgeContext(rel)
    forward = similarity.pairs(decoder.query(src, context, 0), dst)
    backward = similarity.pairs(decoder.query(dst, context, 1), src)
    torch.testing.assert_close(forward, backward, rtol=1e-4, atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 40), st.integers(0, 40), st.booleans(), st.integers(0, 9))
def test_products_of_complex_numbers_have_torchs_bits(rows, half, conjugate, seed):
    """So that runs on a GPU, where torch computes them, agree with runs on a CPU."""
    rng = np.random.default_rng(seed)
    left, right, grad = (torch.from_numpy(rng.standard_normal((rows, 2 * half), np.float32)) for _ in range(3))
    found = left.clone().requires_grad_(), right.clone().requires_grad_()
    expected = left.clone().requires_grad_(), right.clone().requires_grad_()
    (real, imaginary), (other, turned) = (each.chunk(2, -1) for each in expected)
    turned = -turned if conjugate else turned
    plain = torch.cat([real * other - imaginary * turned, real * turned + imaginary * other], -1)
    product = complex_product(*found, conjugate)
    assert torch.equal(product, plain)
    for ours, theirs in zip(torch.autograd.grad(product, found, grad), torch.autograd.grad(plain, expected, grad)):
        assert torch.equal(ours, theirs)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 20), st.integers(1, 20), st.integers(0, 1), st.integers(0, 9))
def test_rotations_are_those_of_their_definition(place, rows, half, side, seed):
    """Against autograd in float64."""
    rng = np.random.default_rng(seed)
    entity, phases, grad = (rng.standard_normal((rows, size)).astype(np.float32) for size in (2 * half, half, 2 * half))
    exact = [torch.from_numpy(each).double().requires_grad_() for each in (entity, phases)]
    real, imaginary = exact[0].chunk(2, -1)
    cos, sin = exact[1].cos(), exact[1].sin() * (-1 if side else 1)
    plain = torch.cat([real * cos - imaginary * sin, real * sin + imaginary * cos], -1)
    expected = torch.autograd.grad(plain, exact, torch.from_numpy(grad).double())
    given = [torch.from_numpy(each).requires_grad_() for each in (entity, phases)]
    with place():
        rotated = make_decoder("rotate", 2 * half).query(given[0], EdgeContext(given[1]), side)
        found = torch.autograd.grad(rotated, given, torch.from_numpy(grad))
    for ours, theirs in zip((rotated, *found), (plain, *expected), strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", DECODERS)
def test_first_values(name):
    decoder = make_decoder(name, 8)
    nodes, relations = decoder.node_draw(8), decoder.relation_draw(8)
    entities = nodes(np.random.default_rng(1), 30, 8)
    drawn = relations(np.random.default_rng(1), 5, decoder.relation_dim(8))
    assert (entities.shape, entities.dtype) == ((30, 8), np.float32)
    assert (drawn.shape, drawn.dtype) == ((5, decoder.relation_dim(8)), np.float32)
    assert len(np.unique(entities)) == entities.size
    assert len(np.unique(drawn)) == drawn.size, "relations that are all alike score a node best with itself"
    np.testing.assert_array_equal(entities, nodes(np.random.default_rng(1), 30, 8))


@pytest.mark.parametrize("name", [name for name, entry in DECODERS.items() if entry.asks_for_relations])
def test_asked_for_relations_the_edges_score_is_the_same(name):
    rng, decoder = np.random.default_rng(3), make_decoder(name, 8)
    src, dst, rel = (torch.from_numpy(rng.standard_normal((7, 8), np.float32)) for _ in range(3))
    similarity = SIMILARITIES[decoder.similarity]
    torch.testing.assert_close(
        similarity.pairs(decoder.relation_query(src, dst), rel),
        similarity.pairs(decoder.query(src, EdgeContext(rel), 0), dst),
        rtol=1e-4,
        atol=1e-5,
    )


@pytest.mark.parametrize("kind", ["normal", "uniform"])
@pytest.mark.parametrize("other", ["normal", "uniform"])
def test_another_kind_keeps_the_standard_deviation(kind, other):
    values = Draw(kind, 0.5).changed(other, None)(np.random.default_rng(1), 1000, 100)
    assert values.std() == pytest.approx(0.5 if kind == "normal" else 0.5 / 3**0.5, rel=0.02)
    assert Draw(kind, 0.5).changed(None, 2.0) == Draw(kind, 2.0)


@pytest.mark.parametrize(("name", "dim"), [("complex", 5), ("rotate", 1), ("distmult", 0)])
def test_a_dim_that_does_not_fit_is_named(name, dim):
    with pytest.raises(UserError, match=f"model.dim: found {dim}"):
        make_decoder(name, dim)


def test_modulus_of_complex_numbers_covers_both_parts():
    values = torch.tensor([[3.0, 0.0, 4.0, -2.0]])
    assert make_decoder("complex", 4).modulus(values).tolist() == [[5, 2, 5, 2]]
    assert make_decoder("distmult", 4).modulus(values).tolist() == [[3, 0, 4, 2]]
