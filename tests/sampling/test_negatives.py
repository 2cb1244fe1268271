import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.sampling.every_resident import EveryResident
from marius_lite.sampling.negatives import FewThenMany, NegativeSampler, ResidentNodes
from marius_lite.types import EdgeBatch

RESIDENT = ResidentNodes((0, 1, 2), 25, 10, np.array([300, 100, 700]))


def batch(n=50, place=(1, 2, 3)):
    return EdgeBatch(*place, np.arange(n) + 5000, np.arange(n) + 6000, np.zeros(n, np.int64))


@given(st.integers(0, 10))
def test_each_part_comes_from_its_place(tenths):
    negatives = NegativeSampler(20, 3, 2 * tenths, 0).sample(batch(), RESIDENT).negatives
    assert negatives.shape == (2, 3, 20)
    own = 2 * tenths
    assert set(negatives[0, :, :own].ravel()) <= set(range(6000, 6050))
    assert set(negatives[1, :, :own].ravel()) <= set(range(5000, 5050))
    assert set(negatives[:, :, own:].ravel()) <= {*range(300, 310), *range(100, 110), *range(700, 705)}


def test_uniform_over_resident_nodes():
    drawn = NegativeSampler(50_000, 1, 0, 0).sample(batch(), RESIDENT).negatives
    _, counts = np.unique(drawn, return_counts=True)
    assert len(counts) == 25
    expected = drawn.size / 25
    assert ((counts - expected) ** 2 / expected).sum() < 55  # chi-square, 24 degrees of freedom, p = 0.0003


def test_the_same_place_draws_the_same_and_another_does_not():
    sampler = NegativeSampler(100, 2, 10, 7)
    one, two, other = (sampler.sample(batch(place=p), RESIDENT) for p in ((1, 2, 3), (1, 2, 3), (1, 2, 4)))
    assert (one.negatives == two.negatives).all()
    assert one.seed == two.seed
    assert (one.negatives != other.negatives).any()
    assert one.seed != other.seed


def test_the_first_epochs_draw_few_and_later_ones_what_they_are_asked_for():
    few, every = NegativeSampler(12, 1, 0, 7), EveryResident(7)
    sampler = FewThenMany(2, few, every)
    for epoch, expected in ((0, few), (1, few), (2, every), (5, every)):
        edges = batch(place=(epoch, 0, 0))
        assert (sampler.sample(edges, RESIDENT).negatives == expected.sample(edges, RESIDENT).negatives).all()
        assert sampler.sample(edges, RESIDENT).shared == (expected is every)


def test_no_more_are_drawn_than_there_are_nodes():
    sampler = FewThenMany(2, NegativeSampler(13, 1, 0, 7), EveryResident(7))
    assert sampler.sample(batch(place=(0, 0, 0)), RESIDENT).negatives.shape == (1, 1, 25)
