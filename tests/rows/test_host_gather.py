"""The CPU gather: rows of tables of any type as float32; of 16-bit tables every bit pattern widens to the number that it is."""

import numpy as np
import pytest
import torch

from marius_lite._native import gather
from marius_lite.graph.feature_types import STORED, decode
from marius_lite.rows.host_gather import HostGather


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


@pytest.mark.parametrize("type", STORED)
def test_rows_are_what_they_are_stored_for(type):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(20, 8)).astype(np.float16).view(np.uint16).astype(np.uint16)
    table = table if type == "bfloat16" else rng.integers(-100, 100, (20, 8)).astype(STORED[type])
    scales = rng.random(8).astype(np.float32) if type == "int8" else None
    rows = rng.integers(20, size=30)
    found = HostGather(table, 5, type=type, scales=scales)(rows)
    assert found.dtype == torch.float32
    np.testing.assert_array_equal(found.numpy(), decode(table, type, scales)[rows, :5])


def test_a_result_stays_until_the_ring_is_round():
    table = np.arange(40, dtype=np.float32).reshape(10, 4)
    take = HostGather(table, 4, ring=3)
    kept = [take(np.array(rows)) for rows in ([1, 2], [3], [4, 5, 6])]
    for found, rows in zip(kept, ([1, 2], [3], [4, 5, 6])):
        np.testing.assert_array_equal(found.numpy(), table[rows])
    again = take(np.array([7, 8]))
    assert again.data_ptr() == kept[0].data_ptr()
