"""Edges are drawn in proportion to a power of their weights, as many in each epoch as without."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.errors import UserError
from marius_lite.graph.weight_shares import AT_ONCE, MOST, shares
from marius_lite.sampling.by_weight import drawn, order_by_weight
from marius_lite.sampling.windows import Cut, Window, WindowReader, shuffled

POWERS = (1.0, 0.5, 0.25, -0.25, -0.5, -1.0)
WEIGHTS = st.lists(st.floats(-5, 100, width=32), min_size=1, max_size=60).map(lambda found: np.array(found, np.float32))


def window(edges, first_batch=3):
    return Window(2, ((0, 0),), edges, first_batch, Cut(10))


@given(WEIGHTS, st.sampled_from(POWERS), st.floats(0, 1, exclude_max=True))
def test_each_edge_is_drawn_its_share_of_times_rounded_up_or_down(weights, power, point):
    counted = shares(weights.copy(), power)
    expected = counted / counted.mean(dtype=np.float64)
    places = drawn(counted, point)
    times = np.bincount(places, minlength=len(weights))
    assert len(places) == len(weights)
    assert (np.diff(places.astype(int)) >= 0).all()
    assert (np.abs(times - expected) < 1 + 1e-4).all()


def test_over_points_the_mean_is_the_share():
    weights = np.random.default_rng(0).gamma(1, 1, AT_ONCE + 500).astype(np.float32)
    points = (np.arange(64) + 0.5) / 64
    times = sum(np.bincount(drawn(weights, point), minlength=len(weights)) for point in points) / len(points)
    assert np.abs(times - weights / weights.mean()).max() < 2 / len(points)


@pytest.mark.parametrize("power", POWERS)
def test_equal_weights_give_the_order_without_weights(power):
    found = order_by_weight(np.full(300, 7.5, np.float32), power, 11, 4, 2, 3)
    assert (found == shuffled(11, 4, window(300))).all()


def test_an_order_follows_from_the_seed_the_epoch_and_the_window():
    weights = np.random.default_rng(0).random(500).astype(np.float32)
    places = [(1, 0, 0, 0), (1, 0, 0, 0), (2, 0, 0, 0), (1, 1, 0, 0), (1, 0, 1, 0), (1, 0, 0, 9)]
    first, again, *others = (order_by_weight(weights.copy(), 1.0, *place) for place in places)
    assert (first == again).all()
    for other in others:
        assert (np.bincount(other, minlength=500) != np.bincount(first, minlength=500)).any()


@given(WEIGHTS, st.sampled_from(POWERS), st.sampled_from([2.0**-8, 2.0**20]))
def test_units_of_weights_do_not_count(weights, power, unit):
    weights = np.where(np.abs(weights) < 1e-30, 0, weights.clip(-1e25, 1e25)).astype(np.float32)  # in any unit they are numbers
    one, other = shares(weights.copy(), power), shares(weights * np.float32(unit), power)
    np.testing.assert_allclose(one / one.mean(), other / other.mean(), rtol=1e-5, atol=1e-6)


@given(WEIGHTS, st.sampled_from(POWERS))
def test_order_of_weights_is_the_order_of_shares(weights, power):
    above = np.sort(weights[weights > 0])
    ascending = shares(np.concatenate([above, weights[weights <= 0]]), power)[: len(above)]
    assert (np.diff(ascending) * np.sign(power) >= 0).all()


def test_one_huge_weight_takes_no_more_than_ten_edges_do():
    weights = np.concatenate([np.arange(1, 10_000), [1e6, 3e38]]).astype(np.float32)
    for power in POWERS:
        counted = shares(weights.copy(), power)
        assert counted.max() <= 1.01 * MOST * counted.mean()
    assert shares(np.array([1, 2, 3], np.float32), 1.0).tolist() == [1, 2, 3]


def test_weights_below_0_count_0_and_near_0_is_nearest():
    assert shares(np.array([-3, 0, 4, 16], np.float32), 0.5).tolist() == [0, 0, 2, 4]
    far = shares(np.array([-3, 4, 16, 0], np.float32), -0.5)
    assert far[:3].tolist() == [0, 0.5, 0.25]
    assert far[3] > 0.5
    for none in ([-1, -2], [0, 0], [-1, 0]):
        assert shares(np.array(none, np.float32), 1.0).tolist() == [1, 1]


def test_weights_that_are_not_finite_are_told():
    for wrong in (np.inf, -np.inf, np.nan):
        with pytest.raises(UserError, match=r"not finite.*training\.weight_power"):
            shares(np.array([1, wrong], np.float32), 1.0)


class Edges:
    """400 numbered edges in one bucket, whose weight is their number."""

    def read_into(self, buckets, src, dst, rel, weight=None):
        for out in (src, dst, rel, *([] if weight is None else [weight])):
            out[:] = np.arange(400)


@pytest.mark.parametrize("ahead", [False, True])
def test_a_reader_draws_the_same_whether_it_reads_ahead_or_not(ahead):
    reader = WindowReader(Edges(), 400, 7, ahead, power=1.0)
    reader.prefetch(5, window(400))
    found = reader.take(5, window(400)).order.copy()
    other = WindowReader(Edges(), 400, 7, ahead=not ahead, power=1.0)
    edges = other.take(5, window(400))
    assert (edges.order == found).all()
    assert (edges.src == np.arange(400)).all()
    times = np.bincount(found, minlength=400)
    assert times[:100].sum() < 30 < 150 < times[300:].sum()
    for each in (reader, other):
        each.close()
