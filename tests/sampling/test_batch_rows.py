"""The rows of batches, each once: every place leads back to its row, and what earlier batches touched is named."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite._native import common_rows
from marius_lite.sampling.batch_rows import FilledRows, ReadRows, RowTracker
from marius_lite.types import EdgeBatch, SampledBatch

ROWS = st.lists(st.integers(0, 40), min_size=1, max_size=30)


def batch(src, negatives, index=0):
    src = np.array(src, np.int64)
    edges = EdgeBatch(0, 0, index, src, src[::-1].copy(), np.zeros(len(src), np.int64))
    return SampledBatch(edges, np.array(negatives, np.int64).reshape(1, 1, -1), 0)


@settings(deadline=None)
@given(st.lists(st.tuples(ROWS, ROWS), min_size=1, max_size=6), st.integers(0, 3), st.none() | st.sets(st.integers(0, 40)))
def test_rows_of_successive_batches(batches, look_back, hot):
    cached = np.array(sorted(hot or ()), np.int64)
    tracker = RowTracker(look_back, "all" if hot is None else cached)
    before = []
    for src, negatives in batches:
        touched = batch(src, negatives).places
        rows = tracker.track(touched)
        assert set(rows.rows.tolist()) == set(touched.tolist())
        assert len(set(rows.rows.tolist())) == len(rows.rows)
        np.testing.assert_array_equal(rows.rows[rows.inverse], touched)
        for s, row in enumerate(rows.rows):
            np.testing.assert_array_equal(rows.order[rows.starts[s] : rows.starts[s + 1]], np.flatnonzero(touched == row))
        cold = rows.rows[: rows.cold]
        assert (np.diff(cold) > 0).all()
        if hot is None:
            assert rows.cold == 0
            np.testing.assert_array_equal(rows.hot, rows.rows)
        else:
            assert not set(cold.tolist()) & hot
            np.testing.assert_array_equal(cached[rows.hot], rows.rows[rows.cold :])
        shared = {distance: set(cold[here].tolist()) for distance, there, here in rows.again}
        for distance, there, here in rows.again:
            np.testing.assert_array_equal(before[-distance][there], cold[here])
        for distance, earlier in enumerate(reversed(before[-look_back:] if look_back else []), 1):
            assert shared.get(distance, set()) == set(earlier.tolist()) & set(cold.tolist())
        assert [distance for distance, _, _ in rows.again] == sorted(shared, reverse=True)
        before.append(cold)


@given(st.lists(st.integers(0, 300), unique=True), st.lists(st.integers(0, 9)), st.none() | st.sets(st.integers(0, 300)))
def test_rows_that_are_only_read(different, again, hot):
    touched = [*different]
    for place in again if different else []:  # a batch is padded by its first row
        touched.insert(1 + place % len(touched), different[0])
    touched, held = np.array(touched, np.int64), np.array(sorted(hot or ()), np.int64)
    rows = ReadRows("all" if hot is None else held).divide(touched)
    assert hot is None or len(rows.rows) == len(different)
    inverse = rows.inverse if len(rows.inverse) else np.arange(len(touched))
    np.testing.assert_array_equal(rows.rows[inverse], touched)
    assert rows.cold == (0 if hot is None else len(set(touched.tolist()) - hot))
    table = touched if hot is None else held
    np.testing.assert_array_equal(rows.hot if hot is None else table[rows.hot], rows.rows[rows.cold :])
    assert rows.again == ()


@given(st.lists(st.integers(0, 40), max_size=30))
def test_filled_batches_have_a_row_for_each_place(touched):
    touched = np.array(touched, np.int64)
    filled, plain = FilledRows(range(41, 44)).find(touched), RowTracker(0, "all").track(touched)
    different = len(plain.rows)
    assert (filled.cold, len(filled.rows), len(filled.starts)) == (0, len(touched), len(touched) + 1)
    np.testing.assert_array_equal(filled.rows[:different], plain.rows)
    np.testing.assert_array_equal(filled.rows[different:], 41 + np.arange(len(touched) - different) % 3)
    np.testing.assert_array_equal(filled.inverse, plain.inverse)
    np.testing.assert_array_equal(filled.order, plain.order)
    np.testing.assert_array_equal(filled.starts[: different + 1], plain.starts)
    assert (filled.starts[different:] == len(touched)).all()


@pytest.mark.parametrize(("left", "right"), [([], [1]), ([1, 5, 9], [0, 5, 9, 12]), ([2**40], [2**40])])
def test_common_rows(left, right):
    left, right = np.array(left, np.int64), np.array(right, np.int64)
    _, here, there = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    found = common_rows(left, right)
    np.testing.assert_array_equal(found[0], here)
    np.testing.assert_array_equal(found[1], there)
