"""Queries that are products, and their gradients: the bits of the decoders' formulas and of torch's gradients."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite._native import query_gradients, query_products
from marius_lite.config.decoders import DECODERS
from marius_lite.nn.decoders import EdgeContext, make_decoder
from marius_lite.nn.query_products import MultipliedRows

PRODUCTS = [name for name, entry in DECODERS.items() if entry.product]


def test_decoders_whose_queries_are_products_are_known():
    assert PRODUCTS == ["distmult", "complex"]


@settings(max_examples=60)
@given(
    st.sampled_from(PRODUCTS),
    st.integers(0, 40),
    st.integers(1, 60),
    st.integers(1, 9),
    st.integers(1, 2),
    st.booleans(),
    st.integers(0, 9),
)
def test_bits_are_those_of_the_formula(name, edges, half, relations, sides, reciprocal, seed):
    torch.manual_seed(seed)
    dim, decoder = 2 * half, make_decoder(name, 2 * half)
    ends, table = torch.randn(2 * edges, dim), torch.randn(relations, dim)
    ids = torch.randint(relations, (sides * edges,))
    d_query, d_positive = torch.randn(sides * edges, dim), torch.randn(sides * edges, dim)
    products = MultipliedRows(DECODERS[name].product, ends[: sides * edges], table, ids, turns=not reciprocal)
    queries = products.queries(sides)
    d_ends, d_relations = products.gradients(d_query, d_positive, sides)
    expected = torch.cat([torch.zeros_like(d_positive), d_positive])[-2 * edges :] if sides == 1 else d_positive.roll(edges, 0)
    for side in range(sides):
        rows = slice(side * edges, (side + 1) * edges)
        entity, relation = ends[rows].clone().requires_grad_(), table[ids[rows]].requires_grad_()
        query = decoder.query(entity, EdgeContext(relation), 0 if reciprocal else side)
        d_entity, d_relation = torch.autograd.grad(query, (entity, relation), d_query[rows])
        assert torch.equal(queries[rows], query)
        assert torch.equal(d_relations[rows], d_relation)
        assert torch.equal(d_ends[rows], d_entity + expected[rows])
    if sides == 1:
        assert torch.equal(d_ends[edges:], d_positive)


@pytest.mark.parametrize("factors", ["real", "complex"])
@pytest.mark.parametrize("threads", [1, 3])
def test_threads_change_no_bit(factors, threads):
    torch.manual_seed(0)
    entity, table, ids, grad = torch.randn(3000, 34), torch.randn(7, 34), torch.randint(7, (3000,)), torch.randn(3000, 34)
    arrays = entity.numpy(), table.numpy(), ids.numpy()
    outs = [[torch.empty_like(entity) for _ in range(3)] for _ in range(2)]
    for (query, d_entity, d_relation), count in zip(outs, (2, threads)):
        query_products(factors, True, *arrays, query.numpy(), count)
        query_gradients(factors, True, *arrays, grad.numpy(), None, d_entity.numpy(), d_relation.numpy(), count)
    assert all(torch.equal(one, other) for one, other in zip(*outs))


@pytest.mark.parametrize("relation", [-1, 4])
def test_a_relation_that_is_not_there_is_refused(relation):
    entity, table, ids = torch.zeros(2, 4), torch.zeros(4, 4), torch.tensor([0, relation])
    with pytest.raises(ValueError, match="relations must be rows of the table"):
        query_products("real", False, entity.numpy(), table.numpy(), ids.numpy(), torch.empty(2, 4).numpy())


@pytest.mark.parametrize(
    ("factors", "shape", "message"),
    [
        ("whole", (2, 4), "real and complex are known"),
        ("complex", (2, 3), "as many real parts"),
        ("real", (2, 5), "as many columns"),
    ],
)
def test_what_cannot_be_multiplied_is_refused(factors, shape, message):
    table = torch.zeros(4, 3 if shape[1] == 3 else 4)
    entity, out = torch.zeros(shape), torch.empty(shape)
    with pytest.raises(ValueError, match=message):
        query_products(factors, False, entity.numpy(), table.numpy(), torch.zeros(2, dtype=torch.long).numpy(), out.numpy())
