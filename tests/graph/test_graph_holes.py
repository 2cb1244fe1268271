"""Holes are found by part and by place, and values close up without them."""

import numpy as np
import pytest

from marius_lite.graph import holes
from marius_lite.graph.holes import Holes, closed_up, write_holes
from marius_lite.storage.metadata import create_group

BEGINS = np.array([0, 0, 40, 41, 500, 500, 900, 1000])


@pytest.fixture
def places():
    return np.sort(np.random.default_rng(0).choice(1000, 150, replace=False))


@pytest.fixture
def found(tmp_path, places):
    create_group(tmp_path)
    assert Holes.find(tmp_path, len(BEGINS) - 1, None) is None
    write_holes(tmp_path, places, BEGINS)
    return Holes.find(tmp_path, len(BEGINS) - 1, None)


def test_holes_of_parts(found, places):
    assert found.all().tolist() == places.tolist()
    for parts in ([0], [1, 3], [2, 3, 5, 6], list(range(7)), []):
        inside, of = found.of(np.array(parts, np.int64))
        expected = [(place, n) for n, k in enumerate(parts) for place in places if BEGINS[k] <= place < BEGINS[k + 1]]
        assert list(zip(inside.tolist(), of.tolist())) == expected


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_holes_between_places(found, places, at_once, monkeypatch):
    monkeypatch.setattr(holes, "AT_ONCE", at_once)
    for low, high in ((0, 1000), (41, 41), (100, 101), (300, 500), (499, 900), (999, 1000), (950, 100_000)):
        before, inside = found.between(3, 7, low, high)
        expected = places[(places >= max(low, 41)) & (places < high)]
        assert inside.tolist() == expected.tolist()
        assert not len(expected) or places[before] == expected[0]


@pytest.mark.parametrize("step", [1, 64, 1 << 18])
def test_values_close_up_in_their_own_memory(places, step, monkeypatch):
    monkeypatch.setattr(holes, "STEP", step)
    for dtype in (np.uint32, np.float32, np.int64):
        values = np.random.default_rng(1).integers(0, 99, 1000).astype(dtype)
        expected = np.delete(values, places)
        left = closed_up(values, places)
        assert left.tolist() == expected.tolist()
        assert left.base is values or left.base is values.base
        assert closed_up(values, places[:0]) is not None
