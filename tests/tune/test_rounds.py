"""Successive halving: costs and numbers of trials."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.tune.rounds import kept, rounds


@given(count=st.integers(1, 6), reduction=st.integers(2, 5), graph=st.booleans())
def test_each_round_costs_so_many_times_more_and_the_last_is_whole(count, reduction, graph):
    made = rounds(count, reduction, graph)
    costs = [each.edges * each.epochs for each in made]
    assert costs == pytest.approx([reduction ** (number + 1.0 - count) for number in range(count)])
    assert (made[-1].edges, made[-1].epochs, made[-1].epochs_of(37)) == (1, 1, 37)
    assert all(each.edges == 1 for each in made) or graph
    assert all(each.epochs_of(1) == 1 for each in made)


@given(trials=st.integers(1, 500), reduction=st.integers(2, 9))
def test_one_of_so_many_goes_on(trials, reduction):
    assert 1 <= kept(trials, reduction) <= trials / reduction + 1
