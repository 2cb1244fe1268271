"""Ways are timed in turn on one thread, and the usual one is taken unless another is far ahead."""

import time

import pytest
import torch

from marius_lite.nn.timing import LEAST_ROUNDS, MOST_ROUNDS, least_seconds, preferred


def test_ways_are_timed_in_turn_on_one_thread():
    before, calls = torch.get_num_threads(), []
    torch.set_num_threads(3)

    def work(name, seconds):
        calls.append((name, torch.get_num_threads()))
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass

    try:
        least = least_seconds({"fast": lambda: work("fast", 0), "slow": lambda: work("slow", 0.002)})
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert least["slow"] >= 0.002 > least["fast"] > 0
    assert calls == [("fast", 1), ("slow", 1)] * (len(calls) // 2)
    assert LEAST_ROUNDS <= len(calls) // 2 <= MOST_ROUNDS


@pytest.mark.parametrize(("rates", "chosen"), [({}, "a"), ({"a": 1.0, "b": 1.2}, "a"), ({"a": 1.0, "b": 1.3}, "b")])
def test_another_way_must_be_far_ahead(rates, chosen):
    assert preferred("a", rates) == chosen


def test_an_error_leaves_the_threads_as_they_were():
    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError):
        least_seconds({"broken": lambda: 1 / 0})
    assert torch.get_num_threads() == before
