"""Row kernels and row optimizers against numpy and torch."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite import _native
from marius_lite.optim.rows import ROW_OPTIMIZERS
from marius_lite.rows.host import HostRowUpdater
from marius_lite.storage.record import record_of
from marius_lite.types import RowGrads

DIM = 6
TORCH = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad, "adam": torch.optim.Adam}


@settings(deadline=None)
@given(st.lists(st.integers(0, 1 << 40), max_size=60) | st.lists(st.integers(0, 5), max_size=60))
def test_sort_rows_is_numpys_stable_sort(rows):
    rows = np.array(rows, np.int64)
    unique, order, starts = _native.sort_rows(rows)
    assert (order.dtype, starts.dtype) == (np.int32, np.int32)
    np.testing.assert_array_equal(order, np.argsort(rows, kind="stable"))
    np.testing.assert_array_equal(unique, np.unique(rows))
    np.testing.assert_array_equal(np.diff(starts), np.unique(rows, return_counts=True)[1])


@settings(deadline=None)
@given(st.integers(1, 20), st.integers(0, 50), st.integers(1, 9), st.integers(0, 3), st.integers(0, 3))
def test_gather_is_indexing(nodes, count, dim, extra, threads):
    rng = np.random.default_rng(count)
    table = rng.standard_normal((nodes, dim + extra), np.float32)
    rows = rng.integers(0, nodes, count)
    out = np.empty((count, dim), np.float32)
    _native.gather(table, rows, out, threads)
    np.testing.assert_array_equal(out, table[rows, :dim])


@pytest.mark.parametrize("row", [-1, 3])
def test_gather_names_the_row_outside(row):
    with pytest.raises(ValueError, match=f"row {row} at position 1 .* 3 rows"):
        _native.gather(np.zeros((3, 4), np.float32), np.array([0, row]), np.zeros((2, 4), np.float32))


def test_arrays_of_other_kinds_are_refused():
    table, rows, out = np.zeros((3, 4), np.float32), np.array([0, 1]), np.zeros((2, 4), np.float32)
    for wrong in [
        (table.astype(float), rows, out),
        (table, rows.astype(np.int32), out),
        (table[:, ::2], rows, out),
        (table, rows, out[::-1]),
    ]:
        with pytest.raises(TypeError):
            _native.gather(*wrong)
    with pytest.raises(TypeError):
        _native.segment_sum([np.zeros((2, 4))], np.zeros(2, np.int32), np.zeros(2, np.int32), out[:1])


def random_grads(rng, nodes, parts=3):
    rows = [rng.integers(0, nodes, n) for n in rng.integers(1, 20, parts)]
    grads = [torch.from_numpy(rng.standard_normal((len(part), DIM), np.float32)) for part in rows]
    return RowGrads(rows, grads)


def summed(grads, nodes):
    dense = np.zeros((nodes, DIM))
    for rows, part in zip(grads.rows, grads.grads, strict=True):
        np.add.at(dense, rows, part.numpy().astype(float))
    return dense, np.unique(np.concatenate(grads.rows))


@pytest.mark.parametrize("name", ROW_OPTIMIZERS)
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_only_the_batchs_rows_change(name, seed):
    rng = np.random.default_rng(seed)
    optimizer = ROW_OPTIMIZERS[name]()
    width = DIM + record_of(name, DIM).state_columns + 2
    before = np.abs(rng.standard_normal((12, width), np.float32))
    table, grads = before.copy(), random_grads(rng, 12, 1)
    changed = HostRowUpdater(optimizer, DIM, lr=0.1).apply(table, grads)
    np.testing.assert_array_equal(changed, np.unique(grads.rows[0]))
    others = np.setdiff1d(np.arange(12), changed)
    np.testing.assert_array_equal(table[others], before[others])
    np.testing.assert_array_equal(table[:, -2:], before[:, -2:])  # padding
    assert (table[changed, :DIM] != before[changed, :DIM]).any(axis=1).all()


@pytest.mark.parametrize("name", ROW_OPTIMIZERS)
def test_ten_steps_equal_a_float64_reference(name):
    rng = np.random.default_rng(3)
    optimizer = ROW_OPTIMIZERS[name]()
    table = np.zeros((12, DIM + record_of(name, DIM).state_columns), np.float32)
    table[:, :DIM] = rng.standard_normal((12, DIM))
    updater = HostRowUpdater(optimizer, DIM, lr=0.1)
    values = [torch.nn.Parameter(torch.tensor(row[:DIM], dtype=torch.float64)) for row in table]
    reference = [TORCH[name]([v], lr=0.1) for v in values] if name in TORCH else None
    squares = np.zeros(12)
    for _ in range(10):
        grads = random_grads(rng, 12)
        dense, rows = summed(grads, 12)
        updater.apply(table, grads)
        for row in rows:
            if reference:
                values[row].grad = torch.from_numpy(dense[row])
                reference[row].step()
            else:
                squares[row] += (dense[row] ** 2).mean()
                values[row].data -= torch.from_numpy(0.1 * dense[row] / (np.sqrt(squares[row]) + 1e-10))
    expected = np.stack([v.detach().numpy() for v in values])
    np.testing.assert_allclose(table[:, :DIM], expected, rtol=2e-5, atol=2e-6)


def test_options_have_names():
    rows = np.arange(1), np.ones((1, DIM), np.float32), 0.5
    tables = [np.ones((1, DIM + 1), np.float32) for _ in range(3)]
    ROW_OPTIMIZERS["row_adagrad"]().step(tables[0], *rows)
    ROW_OPTIMIZERS["row_adagrad"](eps=1e-10).step(tables[1], *rows)
    ROW_OPTIMIZERS["row_adagrad"](eps=1.0).step(tables[2], *rows)
    np.testing.assert_array_equal(tables[0], tables[1])
    assert (tables[0] != tables[2]).any()
    with pytest.raises(ValueError, match="row step: an option that row_adagrad does not have"):
        ROW_OPTIMIZERS["row_adagrad"](beta1=0.9).step(tables[0], *rows)


def test_rows_out_of_order_change_nothing():
    table = np.ones((5, DIM), np.float32)
    for rows in ([1, 1], [2, 1], [0, 5], [-1, 0]):
        with pytest.raises(ValueError, match="row step"):
            ROW_OPTIMIZERS["sgd"]().step(table, np.array(rows), np.ones((2, DIM), np.float32), 0.1)
    with pytest.raises(ValueError, match=f"records of {DIM} columns, {DIM + 1} needed"):
        ROW_OPTIMIZERS["row_adagrad"]().step(table, np.array([0, 1]), np.ones((2, DIM), np.float32), 0.1)
    assert (table == 1).all()


def test_rows_are_clipped_one_by_one_and_the_rate_multiplies():
    updater = HostRowUpdater(ROW_OPTIMIZERS["sgd"](), 2, lr=0.5, clip=1.0)
    updater.rate = 0.1
    table = np.zeros((3, 2), np.float32)
    grads = RowGrads([np.array([2, 0, 2])], [torch.tensor([[15.0, 20.0], [0.3, 0.4], [15.0, 20.0]])])
    updater.apply(table, grads)
    np.testing.assert_allclose(table, [[-0.015, -0.02], [0, 0], [-0.03, -0.04]], rtol=1e-6)


@pytest.mark.parametrize("clip", [0.0, 1.5])
def test_how_many_rows_are_updated_at_a_time_changes_no_bit(clip, monkeypatch):
    rng, tables = np.random.default_rng(1), []
    grads = random_grads(rng, 40, parts=4)
    start = rng.standard_normal((40, 2 * DIM), np.float32) ** 2
    for at_a_time in (1, 7, 64):
        monkeypatch.setattr("marius_lite.rows.host.ROWS_AT_A_TIME", at_a_time)
        tables.append(start.copy())
        rows = HostRowUpdater(ROW_OPTIMIZERS["adagrad"](), DIM, 0.1, clip).apply(tables[-1], grads)
        np.testing.assert_array_equal(rows, np.unique(np.concatenate(grads.rows)))
    assert not np.array_equal(tables[0], start)
    np.testing.assert_array_equal(tables[0], tables[2])
    np.testing.assert_array_equal(tables[1], tables[2])
