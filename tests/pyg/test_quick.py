"""Batches come in order, whoever samples them: the caller's thread while it is quick, another one once it is slow."""

import threading
import time

import pytest

torch = pytest.importorskip("torch")

from marius_lite.pyg import quick  # noqa: E402


def sampled(monkeypatch, slow, seconds=0.01, stop=lambda: False):
    """The batches, and which of them were sampled in another thread. ``slow``: those that take long."""
    monkeypatch.setattr(quick, "QUICK_SECONDS", seconds)
    elsewhere = []

    def sample(batch):
        if threading.current_thread() is not threading.main_thread():
            elsewhere.append(batch)
        if batch in slow:
            time.sleep(2 * seconds)
        return -batch

    return list(quick.sampled_quickly(range(8), sample, stop)), elsewhere


@pytest.mark.parametrize(("slow", "elsewhere"), [((), []), ((0, 2, 4), []), ((3, 4), [5, 6, 7]), ((6, 7), [])])
def test_two_slow_ones_in_a_row_begin_a_thread(monkeypatch, slow, elsewhere):
    before = threading.active_count()
    batches, found = sampled(monkeypatch, slow, seconds=0.2 if slow else 100)
    assert batches == [(batch, -batch) for batch in range(8)]
    assert found == elsewhere
    assert threading.active_count() == before


def test_an_iteration_that_is_left_ends_its_thread(monkeypatch):
    monkeypatch.setattr(quick, "QUICK_SECONDS", -1)
    before, closed = threading.active_count(), []

    def batches():
        try:
            yield from range(1000)
        finally:
            closed.append(True)

    running = quick.sampled_quickly(batches(), lambda batch: batch, lambda: False)
    assert [next(running) for _ in range(4)] == [(batch, batch) for batch in range(4)]
    assert threading.active_count() == before + 1
    running.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("at", [1, 5])
def test_an_error_comes_to_the_caller(monkeypatch, at):
    monkeypatch.setattr(quick, "QUICK_SECONDS", -1)

    def sample(batch):
        if batch == at:
            raise ValueError("wrong")
        return batch

    running, seen = quick.sampled_quickly(range(8), sample, lambda: False), []
    with pytest.raises(ValueError, match="wrong"):
        seen.extend(batch for batch, _ in running)
    assert next(running, None) is None
