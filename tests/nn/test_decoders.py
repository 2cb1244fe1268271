"""A decoder's two queries agree, and its first values suit it."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.errors import UserError
from marius_lite.nn.decoders import DECODERS
from marius_lite.nn.model import initial_values
from marius_lite.nn.similarities import SIMILARITIES


@pytest.mark.parametrize("name", DECODERS)
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 8))
def test_both_sides_give_the_edges_score(name, seed, half):
    rng, decoder, dim = np.random.default_rng(seed), DECODERS[name], 2 * half
    src, dst = (torch.from_numpy(rng.standard_normal((7, dim), np.float32)) for _ in range(2))
    rel = torch.from_numpy(rng.standard_normal((7, decoder.relation_dim(dim)), np.float32))
    similarity = SIMILARITIES[decoder.similarity]
    forward = similarity.pairs(decoder.query(src, rel, 0), dst)
    backward = similarity.pairs(decoder.query(dst, rel, 1), src)
    torch.testing.assert_close(forward, backward, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", DECODERS)
def test_first_values(name):
    decoder = DECODERS[name]
    entities = initial_values(np.random.default_rng(1), 30, 8, name)
    relations = decoder.initial_relations(np.random.default_rng(1), 5, 8)
    assert (entities.shape, entities.dtype) == ((30, 8), np.float32)
    assert (relations.shape, relations.dtype) == ((5, decoder.relation_dim(8)), np.float32)
    assert len(np.unique(entities)) == entities.size
    np.testing.assert_array_equal(entities, initial_values(np.random.default_rng(1), 30, 8, name))


@pytest.mark.parametrize(("name", "dim"), [("complex", 5), ("rotate", 1), ("distmult", 0)])
def test_a_dim_that_does_not_fit_is_named(name, dim):
    with pytest.raises(UserError, match=f"model.dim: found {dim}"):
        DECODERS[name].check(dim)


def test_modulus_of_complex_numbers_covers_both_parts():
    values = torch.tensor([[3.0, 0.0, 4.0, -2.0]])
    assert DECODERS["complex"].modulus(values).tolist() == [[5, 2, 5, 2]]
    assert DECODERS["distmult"].modulus(values).tolist() == [[3, 0, 4, 2]]
