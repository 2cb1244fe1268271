"""Rows of bfloat16: rounded to the nearest, widened exactly, and read by any index as an array would be."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from marius_lite.storage.bfloat16 import BITS, WidenedRows, as_stored, floats, from_bfloat16, to_bfloat16

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(arrays.arrays(np.float32, 20, elements=FINITE))
def test_the_nearest_is_no_further_than_half_a_step(values):
    rounded = from_bfloat16(to_bfloat16(values.copy())).astype(float)
    steps = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(values.astype(float)), 2.0**-126))) - 7)
    finite = np.isfinite(rounded)
    assert (np.abs(rounded - values)[finite] <= steps[finite] / 2).all()
    assert (np.abs(values)[~finite] > 3.38e38).all()


@given(arrays.arrays(np.uint16, 20))
def test_what_fits_is_rounded_to_itself(bits):
    values = from_bfloat16(bits)
    finite = np.isfinite(values)
    np.testing.assert_array_equal(to_bfloat16(values[finite].copy()), bits[finite])


def test_widened_rows_are_indexed_like_an_array():
    bits = np.random.default_rng(0).integers(0, 0x7F00, (50, 6)).astype(BITS)
    rows, expected = WidenedRows(bits[:, :5]), from_bfloat16(bits)[:, :5]
    assert len(rows) == 50
    for index in (slice(3, 17), slice(None), np.array([4, 4, 0, 49])):
        np.testing.assert_array_equal(rows[index], expected[index])
        assert rows[index].dtype == np.float32


def test_floats_are_not_copied_where_they_are_floats():
    values = np.ones((3, 4), np.float32)
    assert floats(values) is values
    np.testing.assert_array_equal(floats(to_bfloat16(values.copy())), values)


def test_values_are_stored_as_a_table_has_them():
    values = np.array([1.0, 2.5, -3.0], np.float32)
    assert as_stored(values, values.dtype) is values
    np.testing.assert_array_equal(floats(as_stored(values.copy(), BITS)), values)
