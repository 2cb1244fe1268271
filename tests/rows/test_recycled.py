"""Memory of tensors is used again, but never while somebody has the tensor or a part of it."""

import gc
import threading

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.rows.recycled import KEPT, RecycledRows

DROP, KEEP_A_VIEW = -1, -2


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([5, 100, 130, 180, 4000, DROP, KEEP_A_VIEW]), st.integers(0, 99)), max_size=60))
def test_what_somebody_has_stays_as_it_is(steps):
    recycled, alive = RecycledRows(), []
    for number, (rows, place) in enumerate(steps):
        if rows > 0:
            tensor = recycled.tensor(rows, 3)
            assert tensor.shape == (rows, 3)
            assert tensor.dtype == torch.float32
            tensor.fill_(number)
            alive.append((tensor, number))
        elif alive:
            tensor, filled = alive.pop(place % len(alive))
            if rows == KEEP_A_VIEW:
                alive.append((tensor[-1:, :1], filled))
        for tensor, filled in alive:
            assert (tensor == filled).all()


def test_a_loop_that_drops_its_tensors_has_two_blocks():
    recycled, seen, batch = RecycledRows(), set(), None
    for rows in [1000, 990, 1010, 1100, 900] * 20:
        batch = recycled.tensor(rows, 8)
        seen.add(batch.data_ptr())
    assert len(seen) == 2, batch


def test_loops_one_after_another_have_the_same_two_blocks():
    recycled, seen = RecycledRows(), set()

    def loop():
        batch = None
        for rows in [1000, 700, 1100, 900, 1300]:
            batch = recycled.tensor(rows, 8)
            seen.add(batch.data_ptr())
        return batch.shape

    loop()  # the largest batch comes last
    seen.clear()
    for _ in range(20):
        loop()
    assert len(seen) <= 3
    loops, seen = seen, set()
    for _ in range(20):
        loop()
    assert seen <= loops


def test_one_that_is_kept_is_not_used_again():
    recycled = RecycledRows()
    kept = [recycled.tensor(10, 10) for _ in range(5)]
    assert len({tensor.data_ptr() for tensor in kept}) == 5


def test_memory_far_too_large_is_given_up():
    recycled = RecycledRows()
    large = recycled.tensor(10_000).data_ptr()
    small = recycled.tensor(10)
    assert small.data_ptr() != large
    assert not recycled._free


def test_tensors_may_be_dropped_by_any_thread():
    recycled, handed, wrong = RecycledRows(), [], []

    def drop():
        for _ in range(2000):
            while handed:
                try:
                    tensor, number = handed.pop()
                except IndexError:  # the other thread has it
                    break
                wrong.extend([number] * (not (tensor == number).all()))
                del tensor

    threads = [threading.Thread(target=drop) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(2000):
        tensor = recycled.tensor(64)
        tensor.fill_(number)
        handed.append((tensor, number))
        del tensor
    for thread in threads:
        thread.join()
    assert not wrong
    handed.clear()
    gc.collect()
    assert 1 <= len(recycled._free) <= KEPT


def test_no_numbers_and_no_rows():
    recycled = RecycledRows()
    assert recycled.tensor(0, 7).shape == (0, 7)
    assert recycled.tensor(7, 0).shape == (7, 0)
