import threading
import time
from contextlib import closing

import pytest

from marius_lite.pipeline.batches import spread, staged

STAGES = {"one thread": staged, "several": spread}


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_results_come_in_order(stage):
    assert list(stage(range(100), lambda x: time.sleep(x % 3 / 1000) or x * x, 3)) == [x * x for x in range(100)]
    assert list(stage([], lambda x: x, 3)) == []


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
@pytest.mark.parametrize("where", ["function", "items"])
def test_an_error_is_raised_in_its_turn(where, stage):
    def items():
        yield from range(3)
        if where == "items":
            raise KeyError("items")
        yield 3

    def function(x):
        if x == 3:
            raise KeyError("function")
        return x

    got = []
    with pytest.raises(KeyError, match=where):
        got.extend(each for each in stage(items(), function, 2))
    assert got in ([], [0, 1, 2])


def test_several_threads_work_at_the_same_time_and_end():
    before, meeting = threading.active_count(), threading.Barrier(3, timeout=10)
    with closing(spread(range(50), lambda x: (meeting.wait(), x)[1], 3)) as stage:
        assert [next(stage) for _ in range(9)] == list(range(9))
        meeting.abort()
    assert threading.active_count() == before


def test_after_a_stop_nothing_is_waited_for():
    go_on, asked = threading.Event(), []
    stage = spread(range(9), lambda x: go_on.wait(10) and x, 2, stop=lambda: asked.append(1) or go_on.set() or True)
    assert list(stage) == []
    assert asked


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_never_further_ahead_than_asked(stage):
    started = []
    stage = stage(range(50), lambda x: started.append(x) or x, 2)
    assert next(stage) == 0
    time.sleep(0.3)
    assert len(started) <= 1 + 2 + 1
    stage.close()


def test_permits_bound_what_is_in_flight_and_closing_ends_the_thread():
    before = threading.active_count()
    permits = threading.Semaphore(2)
    with closing(staged(range(50), lambda x: x, 10, permits)) as stage:
        assert [next(stage), next(stage)] == [0, 1]
        time.sleep(0.2)
        permits.release()
        assert next(stage) == 2
    assert threading.active_count() == before
