"""The record's columns: contiguous, in order, padded to 16 bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite._native import ROW_OPTIMIZERS
from marius_lite.storage.record import RecordLayout, record_of


@given(st.integers(1, 5000), st.integers(0, 5000))
def test_columns_follow_each_other_and_rows_are_aligned(dim, state_columns):
    layout = RecordLayout(dim, state_columns)
    columns = list(range(layout.width))
    assert columns[layout.values] + columns[layout.state] == columns[: dim + state_columns]
    assert len(columns[layout.values]) == dim
    assert layout.stride % 16 == 0
    assert layout.stride == 4 * layout.width
    assert 0 <= layout.width - dim - state_columns < 4


@given(st.integers(1, 5000), st.integers(0, 5000))
def test_rows_of_bfloat16_are_aligned_too(dim, state_columns):
    layout = RecordLayout(dim, state_columns, "bfloat16")
    assert layout.stride % 16 == 0
    assert layout.stride == 2 * layout.width
    assert 0 <= layout.width - dim - state_columns < 8


@pytest.mark.parametrize(("dim", "state_columns"), [(0, 1), (-1, 0), (4, -1)])
def test_impossible_layouts_are_refused(dim, state_columns):
    with pytest.raises(ValueError, match="dim and state_columns"):
        RecordLayout(dim, state_columns)


def test_state_columns_of_each_row_optimizer():
    found = {name: record_of(name, 7).state_columns for name in ROW_OPTIMIZERS}
    assert found == {"sgd": 0, "row_adagrad": 1, "adagrad": 7, "adam": 15}
    rounded = {name: record_of(name, 7, "bfloat16").state_columns for name in ROW_OPTIMIZERS}
    assert rounded == {"sgd": 0, "row_adagrad": 2, "adagrad": 7, "adam": 16}
