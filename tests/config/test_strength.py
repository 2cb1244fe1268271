"""The strength of N3 falls with the edges that a node has, unless it is given."""

from types import SimpleNamespace

import pytest

from marius_lite.config.load import load
from marius_lite.config.strength import with_strength


def facts(nodes, edges):
    return SimpleNamespace(nodes=nodes, splits={"train": edges})


AUTO = ["regularizer.name=n3", "regularizer.weight=auto"]


@pytest.mark.parametrize(("nodes", "edges", "weight"), [
    (40_943, 86_835, 0.0943), (14_541, 272_115, 0.0107), (1000, 500, 0.2), (1000, 0, 0.2)])
def test_it_falls_with_the_mean_degree(nodes, edges, weight):
    assert with_strength(load(sets=AUTO), facts(nodes, edges)).regularizer.weight == weight


def test_what_is_given_stays():
    known = facts(1000, 10_000)
    assert with_strength(load(sets=["regularizer.name=n3", "regularizer.weight=0.07"]), known).regularizer.weight == 0.07
    assert with_strength(load(sets=["regularizer.weight=auto"]), known).regularizer.weight == 0
