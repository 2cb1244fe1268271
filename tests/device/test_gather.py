"""The CPU gather of 16-bit tables: every bit pattern widens to the number that it is."""

import numpy as np
import pytest
import torch

from marius_lite._native import gather


@pytest.mark.parametrize("bfloat16", [False, True])
def test_every_pattern_is_widened(bfloat16):
    table = np.arange(1 << 16, dtype=np.uint16).reshape(-1, 16)
    rows = np.random.default_rng(0).permutation(len(table))
    out = np.empty((len(table), 16), np.float32)
    gather(table, rows, out, bfloat16=bfloat16, threads=2)
    kind = torch.bfloat16 if bfloat16 else torch.float16
    expected = torch.from_numpy(table[rows].view(np.int16)).view(kind).float().numpy()
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(np.signbit(out), np.signbit(expected))


def test_only_the_first_columns_of_rows_inside_the_table():
    table = np.random.default_rng(0).random((9, 8)).astype(np.float16)
    out = np.empty((3, 5), np.float32)
    gather(table.view(np.uint16), np.array([8, 0, 8]), out, bfloat16=False)
    np.testing.assert_array_equal(out, table[[8, 0, 8], :5].astype(np.float32))
    with pytest.raises(ValueError, match="row 9 at position 0"):
        gather(table.view(np.uint16), np.array([9]), out[:1], bfloat16=False)


def test_int8_is_scaled_by_column():
    rng = np.random.default_rng(0)
    table, scales = rng.integers(-128, 128, (20, 7)).astype(np.int8), rng.random(7).astype(np.float32)
    rows, out = rng.integers(20, size=50), np.empty((50, 6), np.float32)
    gather(table, rows, out, scales=scales)
    np.testing.assert_array_equal(out, table[rows, :6].astype(np.float32) * scales[:6])
    with pytest.raises(ValueError, match="fewer scales"):
        gather(table, rows, out, scales=scales[:5])
