"""Factors of the learning rates: where each shape begins and ends, and that none of them rises but while warming up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.config.optimizer_sections import ScheduleSection
from marius_lite.optim.schedule import SHAPES, factor

EPOCHS = 10


@pytest.mark.parametrize(("name", "half"), [("linear", 0.5), ("cosine", 0.5), ("constant", 1.0)])
def test_shapes_by_their_ends(name, half):
    schedule = ScheduleSection(name=name, lowest=0)
    assert factor(schedule, EPOCHS, 0, 0.1, 0) == 1
    assert factor(schedule, EPOCHS, EPOCHS / 2, 0.1, 0) == pytest.approx(half)
    assert factor(schedule, EPOCHS, EPOCHS, 0.1, 0) == pytest.approx(1 if name == "constant" else 0, abs=1e-12)


def test_a_plateau_drops_by_its_factor_down_to_the_lowest():
    schedule = ScheduleSection(name="plateau", factor=0.5, lowest=0.2)
    assert [factor(schedule, EPOCHS, 3, 1, drops) for drops in range(4)] == [1, 0.5, 0.25, 0.2]


@given(st.sampled_from(sorted(SHAPES)), st.floats(0, 3), st.integers(1, 7))
def test_rates_rise_while_warming_up_and_never_after(name, warmup, windows):
    schedule = ScheduleSection(name=name, warmup=warmup)
    ahead = 1 / windows
    places = [k * ahead for k in range(EPOCHS * windows)]
    rates = [factor(schedule, EPOCHS, done, ahead, 0) for done in places]
    assert all(0 < rate <= 1 for rate in rates)
    after = [rate for rate, done in zip(rates, places, strict=True) if done >= warmup]
    assert after == sorted(after, reverse=True)
    if warmup > ahead and name == "constant":
        assert rates[0] == pytest.approx(ahead / warmup)
