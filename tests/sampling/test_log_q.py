import numpy as np
import pytest

from marius_lite.sampling.log_q import log_q


@pytest.mark.parametrize("fraction", [0.25, 1.0])
def test_it_is_the_logarithm_of_how_often_rows_are_drawn(fraction):
    """Against draws, over those of a uniform draw."""
    rng, nodes = np.random.default_rng(1), 8
    ends = np.array([0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 7], np.uint32)
    draws = np.where(rng.random(400_000) < fraction, rng.choice(ends, 400_000), rng.integers(nodes, size=400_000))
    measured = np.bincount(draws) / len(draws) * nodes
    np.testing.assert_allclose(np.exp(log_q(ends, nodes, nodes, fraction)), measured, rtol=0.03)


def test_a_row_that_is_never_drawn_has_a_finite_one():
    assert np.isfinite(log_q(np.array([1], np.uint32), 3, 3, 1.0)).all()
