import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.sampling.negatives import NegativeSampler, Resident
from marius_lite.types import EdgeBatch


def batch(n=50, place=(1, 2, 3)):
    return EdgeBatch(*place, np.arange(n) + 5000, np.arange(n) + 6000, np.zeros(n, np.int64))


def resident(pool=60):
    return Resident(25, 10, np.array([300, 100, 700]), np.arange(pool) + 10)


@given(st.integers(0, 10), st.integers(0, 10))
def test_each_part_comes_from_its_place(tenths_degree, tenths_pool):
    tenths_pool = min(tenths_pool, 10 - tenths_degree)
    sampled = NegativeSampler(20, 3, tenths_degree / 10, tenths_pool / 10, 0).sample(batch(), resident())
    assert sampled.negatives.shape == (2, 3, 20)
    assert sampled.frozen == 2 * tenths_pool
    a, b = 2 * tenths_degree, 20 - sampled.frozen
    assert set(sampled.negatives[0, :, :a].ravel()) <= set(range(6000, 6050))
    assert set(sampled.negatives[1, :, :a].ravel()) <= set(range(5000, 5050))
    assert set(sampled.negatives[:, :, a:b].ravel()) <= {*range(300, 310), *range(100, 110), *range(700, 705)}
    assert set(sampled.negatives[:, :, b:].ravel()) <= set(range(10, 70))


def test_uniform_over_resident_nodes():
    drawn = NegativeSampler(50_000, 1, 0, 0, 0).sample(batch(), resident()).negatives
    _, counts = np.unique(drawn, return_counts=True)
    assert len(counts) == 25
    expected = drawn.size / 25
    assert ((counts - expected) ** 2 / expected).sum() < 55  # chi-square, 24 degrees of freedom, p = 0.0003


def test_the_same_place_draws_the_same_and_another_does_not():
    sampler = NegativeSampler(100, 2, 0.1, 0.2, 7)
    one, two, other = (sampler.sample(batch(place=p), resident()) for p in ((1, 2, 3), (1, 2, 3), (1, 2, 4)))
    assert (one.negatives == two.negatives).all()
    assert one.seed == two.seed
    assert (one.negatives != other.negatives).any()
    assert one.seed != other.seed


@pytest.mark.parametrize("pool", [0])
def test_without_a_pool_its_share_is_drawn_from_the_resident(pool):
    sampled = NegativeSampler(20, 1, 0, 0.5, 0).sample(batch(), resident(pool))
    assert sampled.frozen == 0
    assert sampled.negatives.max() < 800
