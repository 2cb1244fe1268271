"""Rows of bfloat16: rounded by chance, so that they are right in the mean, and the same bits wherever they lie."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from marius_lite._native import round_by_chance
from marius_lite.optim.rows import ROW_OPTIMIZERS
from marius_lite.rows.host import HostRowUpdater
from marius_lite.storage.bfloat16 import BITS, from_bfloat16, to_bfloat16
from marius_lite.storage.record import record_of
from marius_lite.types import RowGrads

DIM, NODES = 6, 12
FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**126), max_value=2.0**126)


def rounded(values, key):
    out = np.empty(len(values), BITS)
    round_by_chance(values, out, key)
    return from_bfloat16(out)


def first_table(name, values):
    record = record_of(name, DIM, "bfloat16")
    table = np.zeros((len(values), record.width), BITS)
    table[:, record.values] = to_bfloat16(values.astype(np.float32))
    return table


def values_of(table):
    return from_bfloat16(table[:, :DIM])


def grads_of(rng, scale=1.0):
    rows = rng.integers(0, NODES, 30)
    return RowGrads([rows], [torch.from_numpy(scale * rng.standard_normal((30, DIM)).astype(np.float32))])


@settings(deadline=None)
@given(arrays.arrays(np.float32, 33, elements=FINITE), st.integers(0, 2**32 - 1))
def test_a_number_becomes_one_of_the_two_around_it(values, key):
    found = rounded(values, key)
    below = from_bfloat16((values.view(np.uint32) >> 16).astype(BITS))  # towards 0
    above = from_bfloat16(((values.view(np.uint32) >> 16) + 1).astype(BITS))
    assert ((found == below) | ((found == above) & (values != below))).all()


def test_what_is_not_finite_stays_so():
    payloads = np.array([0x7F800001, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F800000, 0xFF800000], np.uint32).view(np.float32)
    for key in range(200):
        assert not np.isfinite(rounded(payloads, key)).any()


@pytest.mark.parametrize("magnitude", [1e-30, 1e-3, 1.0, 1e20])
def test_the_mean_is_the_number(magnitude):
    """Of 4,000 keys; the distance in standard errors is what chance allows, in each place and all over."""
    values = (magnitude * np.random.default_rng(0).standard_normal(1000)).astype(np.float32)
    keys = np.random.default_rng(1).integers(0, 2**32, 4000)
    mean = sum(rounded(values, int(key)).astype(float) for key in keys) / len(keys)
    step = 2.0 ** (np.floor(np.log2(np.abs(values.astype(float)))) - 7)
    share = values / step - np.floor(values / step)
    errors = (mean - values) / (step * np.sqrt(np.maximum(share * (1 - share), 1e-4) / len(keys)))
    assert np.abs(errors).max() < 5
    assert 0.9 < errors.std() < 1.1
    assert abs(errors.mean()) < 0.15


def test_small_updates_count_in_the_mean_and_for_each_row_apart():
    """Each is a hundredth of what separates two numbers. To the nearest they would all be lost.

    Rows differ in their first number alone. So a chance that all rows share would show: their mean would vary as one row does.
    """
    step = 2.0**-7
    start = np.ones((200, DIM))
    start[:, 0] += np.arange(200)
    table, grads = first_table("sgd", start), np.full((200, DIM), -step / 100, np.float32)
    for seed in range(1000):
        ROW_OPTIMIZERS["sgd"]().step(table, np.arange(200), grads, 1.0, seed)
    moved = (values_of(table)[:, 1:] - 1) / step  # 10 on average; of each, the variance is 1000 * 0.01 * 0.99
    assert abs(moved.mean() - 10) < 5 * np.sqrt(10 / moved.size)
    assert 2.7 < moved.std() < 3.6
    assert (np.abs(moved.mean(axis=0) - 10) < 5 * np.sqrt(10 / 200)).all()


@pytest.mark.parametrize("name", ["adagrad", "row_adagrad", "adam"])
def test_state_changes_less_than_a_step_and_yet_in_the_mean(name):
    """300 updates by small gradients of a state that large ones have made: to the nearest it would not move at all."""
    record, plain = record_of(name, DIM, "bfloat16"), record_of(name, DIM)
    start = np.ones((400, DIM))
    start[:, 0] += np.arange(400)
    table, exact = first_table(name, start), np.zeros((400, plain.width), np.float32)
    exact[:, :DIM] = start
    rng = np.random.default_rng(0)
    for seed in range(310):
        grads = (rng.standard_normal((400, DIM)) * (1 if seed < 10 else 0.02)).astype(np.float32)
        ROW_OPTIMIZERS[name]().step(table, np.arange(400), grads, 1e-6, seed)
        ROW_OPTIMIZERS[name]().step(exact, np.arange(400), grads, 1e-6)
        if seed == 9:
            before = exact[:, plain.state].copy()
    state = from_bfloat16(table[:, record.state])
    if name in ("row_adagrad", "adam"):
        state = np.concatenate([state[:, :-2], state[:, -2:].sum(axis=1, keepdims=True)], 1)
    found, wanted, old = (each.mean(axis=0) for each in (state, exact[:, plain.state], before))
    spread = (state - exact[:, plain.state]).std(axis=0) / np.sqrt(400)
    assert (np.abs(found - wanted) < 5 * spread + 1e-5 * np.abs(wanted)).all()
    assert (np.abs(wanted - old) > 4 * (5 * spread + 1e-5 * np.abs(wanted))).any()


@pytest.mark.parametrize("name", ROW_OPTIMIZERS)
def test_its_steps_are_those_of_float32_in_the_mean(name):
    """200 tables that are rounded by other seeds, against one of float32, after 20 steps."""
    start = np.random.default_rng(2).standard_normal((NODES, DIM))
    plain = np.zeros((NODES, record_of(name, DIM).width), np.float32)
    plain[:, :DIM] = values_of(first_table(name, start))
    updater, rng = HostRowUpdater(ROW_OPTIMIZERS[name](), DIM, 0.05), np.random.default_rng(3)
    batches = [grads_of(rng) for _ in range(20)]
    for grads in batches:
        updater.apply(plain, grads)
    found = []
    for run in range(200):
        table = first_table(name, start)
        for at, grads in enumerate(batches):
            updater.apply(table, RowGrads(grads.rows, grads.grads, 1000 * run + at))
        found.append(values_of(table))
    deviation = np.std(found, axis=0).clip(1e-4)
    assert (np.abs(np.mean(found, axis=0) - plain[:, :DIM]) < 6 * deviation / np.sqrt(len(found)) + 2e-3).all()


def test_a_count_of_steps_goes_on_beyond_one_bfloat16():
    """Adam corrects its moments by it. One bfloat16 would stop at 256."""
    record = record_of("adam", DIM, "bfloat16")
    table = first_table("adam", np.zeros((1, DIM)))
    for seed in range(2000):
        ROW_OPTIMIZERS["adam"]().step(table, np.array([0]), np.zeros((1, DIM), np.float32), 0.1, seed)
    assert from_bfloat16(table[:, record.state][:, -2:]).sum() == 2000


@pytest.mark.parametrize("name", ROW_OPTIMIZERS)
def test_bits_follow_from_seed_record_and_gradient_not_from_place_or_threads(name):
    rng = np.random.default_rng(4)
    start, grads = first_table(name, rng.standard_normal((700, DIM))), rng.standard_normal((700, DIM)).astype(np.float32)
    order, optimizer = rng.permutation(700), ROW_OPTIMIZERS[name]()
    tables = [start.copy(), start[order], start.copy(), start.copy()]
    optimizer.step(tables[0], np.arange(700), grads, 0.1, 7)
    optimizer.step(tables[1], np.arange(700), grads[order], 0.1, 7)
    for first in (0, 300):
        rows = np.arange(first, min(first + 300, 700) if first == 0 else 700)
        optimizer.step(tables[2], rows, grads[rows], 0.1, 7)
    optimizer.step(tables[3], np.arange(700), grads, 0.1, 8)
    np.testing.assert_array_equal(tables[1], tables[0][order])
    np.testing.assert_array_equal(tables[2], tables[0])
    assert (tables[3] != tables[0]).any()


def test_misfits_change_nothing():
    table = np.ones((5, 8), BITS)
    grads = np.ones((2, DIM), np.float32)
    for rows in ([1, 1], [2, 1], [0, 5], [-1, 0]):
        with pytest.raises(ValueError, match="row step"):
            ROW_OPTIMIZERS["sgd"]().step(table, np.array(rows), grads, 0.1)
    with pytest.raises(ValueError, match="records of 8 columns, 12 needed"):
        ROW_OPTIMIZERS["adagrad"]().step(table, np.array([0, 1]), grads, 0.1)
    assert (table == 1).all()
